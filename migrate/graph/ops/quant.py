"""Numbers of few bits."""

from migrate.graph.ops import declare

for _name in ("wrap", "round_float8", "round_float4", "round_power", "range_of"):
    declare(_name, f"runtime.functional.quant:{_name}")
declare("fake_quantize", "runtime.functional.quant:fake_quantize", scalars=True, learns=(0,))
declare("quantize", "runtime.functional.quant:quantize", scalars=True)
