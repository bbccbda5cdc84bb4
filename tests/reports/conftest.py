"""Example facts: a small classifier converted for vendor_a, a check that finds gaps, and a hostile report."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from migrate.errors import Diagnostic
from reports import (
    Change,
    Inventory,
    MappingRow,
    ParityRow,
    Prediction,
    Recomputation,
    Report,
    Share,
    SourceFacts,
    TargetFacts,
    TensorFacts,
    Unverified,
    Verdict,
    Weight,
)
from reports.facts import State

SOURCE = SourceFacts(
    name="digits.onnx",
    format="ONNX",
    sha256="9f2c5f9a0b1e4d77c3a1b6e2f80d5a4c9b7e6f1a2d3c4b5a69788796a5b4c3d2",
    producer="pytorch 2.13.0",
    opsets={"": 18, "com.microsoft": 1},
    inputs=(TensorFacts(name="image", shape=("batch", 1, 8, 8), dtype="float32"),),
    outputs=(TensorFacts(name="probabilities", shape=("batch", 10), dtype="float32"),),
    operators={
        "Conv": 3,
        "Relu": 4,
        "BatchNormalization": 2,
        "Gemm": 2,
        "GlobalAveragePool": 1,
        "Flatten": 1,
        "Softmax": 1,
    },
    oddities=("Normalisation folded: 1 of 3 convolutions has no batch normalisation, and its bias looks folded",),
)
WEIGHTS = (
    Weight(
        name="layer1.conv.weight", shape=(32, 1, 3, 3), dtype="float32", role="parameter", source="layer1.conv.weight"
    ),
    Weight(name="layer1.norm.weight", shape=(32,), dtype="float32", role="parameter", source="layer1.norm.weight"),
    Weight(name="layer1.norm.bias", shape=(32,), dtype="float32", role="parameter", source="layer1.norm.bias"),
    Weight(
        name="layer1.norm.running_mean", shape=(32,), dtype="float32", role="buffer", trainable=False, source="x.mean"
    ),
    Weight(
        name="layer1.norm.running_var", shape=(32,), dtype="float32", role="buffer", trainable=False, source="x.var"
    ),
    Weight(name="stem.weight", shape=(8, 1), dtype="float16", role="parameter", trainable=False, source="stem"),
    Weight(name="head.weight", shape=(10, 64), dtype="float32", role="parameter", source="onnx::MatMul_117"),
    Weight(
        name="probe.weight", shape=(10, 64), dtype="float32", role="parameter", source="probe", tied_to="head.weight"
    ),
)
CHANGES = (
    Change(
        what="Gemm with transB became nn.Linear",
        why="the weight is a parameter of a layer, and readers expect the layer",
        code="self.head = nn.Linear(64, 10)",
        nodes=("/head/Gemm", "/probe/Gemm"),
    ),
    Change(
        what="batch size 1 in Reshape became x.shape[0]",
        why="a size fixed at export would pin the batch",
        nodes=("/flatten/Reshape",),
    ),
)


def mapped(
    operator: str, state: State, count: int, phases: str, microseconds: float | None = None, **more: Any
) -> MappingRow:
    seconds = None if microseconds is None else round(microseconds * 1e-6, 9)
    dtypes = more.pop("dtypes", ("float32",))
    return MappingRow(
        operator=operator,
        state=state,
        count=count,
        phases=tuple(phases.split()),
        seconds=seconds,
        dtypes=dtypes,
        **more,
    )


CONVOLUTIONS = ("layer1.conv", "layer2.conv", "layer3.conv")
MAPPING = (
    mapped(
        "convolution",
        "native",
        3,
        "forward",
        21.4,
        modules=CONVOLUTIONS,
        nodes=("/layer1/conv/Conv", "/layer2/conv/Conv"),
    ),
    mapped("convolution_backward", "native", 3, "backward", 43.9, modules=CONVOLUTIONS),
    mapped("native_batch_norm", "native", 2, "forward", 12.0, modules=("layer1.norm", "layer2.norm")),
    mapped("gelu_backward", "composed", 2, "backward", 31.0, modules=("layer3.act",), why="as erf, exp, mul and add"),
    mapped("_fused_adamw_", "fused", 1, "optimizer", 9.2),
    mapped("view", "metadata", 6, "forward backward"),
    mapped(
        "unique_dim",
        "fallback",
        1,
        "forward",
        212.0,
        dtypes=("int64",),
        modules=("lookup",),
        nodes=("/lookup/Unique",),
        why="no kernel on the target: 64 KiB are copied to the host and back",
        todo="replace the look-up by a sorted table in local/",
    ),
)


def compared(check: str, case: str, error: float, tolerance: float, engine: str) -> ParityRow:
    passed = error <= tolerance
    return ParityRow(
        check=check, case=case, metric="max relative", error=error, tolerance=tolerance, passed=passed, engine=engine
    )


PARITY = (
    compared("eval outputs", "batch 2", 2.4e-7, 1e-4, "ONNX Runtime"),
    compared("eval outputs", "batch 3", 3.1e-7, 1e-4, "ONNX Runtime"),
    compared("eval outputs", "batch 5", 2.9e-7, 1e-4, "ONNX Runtime"),
    compared("parameters perturbed by 1 %", "batch 3", 4.4e-7, 1e-4, "ONNX Runtime"),
    compared("gradient, joint direction", "float64", 1.9e-9, 1e-5, "central differences"),
    compared("gradient, random direction 1", "float64", 0.0, 1e-5, "central differences"),
    ParityRow(check="parameter inventory", passed=True, engine="source file"),
)
PREDICTION = Prediction(
    step_seconds=412e-6,
    samples_per_second=77_670.0,
    batch_size=32,
    peak_bytes=41_943_040,
    capacity_bytes=34_359_738_368 // 512,
    memory={"weights": 4_194_304, "gradients": 4_194_304, "optimizer state": 8_388_608, "activations": 25_165_824},
    shares=(
        Share(operator="unique_dim", seconds=212e-6, bound="host"),
        Share(operator="convolution_backward", seconds=43.9e-6, bound="compute"),
        Share(operator="gelu_backward", seconds=31e-6, bound="memory"),
        Share(operator="convolution", seconds=21.4e-6, bound="compute"),
        Share(operator="native_batch_norm", seconds=12e-6, bound="memory"),
        Share(operator="_fused_adamw_", seconds=9.2e-6, bound="launch"),
    ),
    recomputed=Recomputation(blocks=8, saved_bytes=6_291_456, peak_bytes=23_068_672, seconds=61e-6),
    basis="roofline of the target's peak rates and bandwidth, 5 us a launch, no overlap",
)
UNVERIFIED = (
    Unverified(what="speed on the device", why="no such device is attached", todo="time a run of 100 steps there"),
    Unverified(what="training loss curve", why="an ONNX file has no training mode of its own to compare with"),
)
DIAGNOSTICS = (
    Diagnostic(
        code="MIG303",
        severity="warning",
        what="normalisation was folded away before export",
        where="/layer3/conv/Conv",
        why="the convolution has a bias and no batch normalisation",
        todo="export in training mode to keep it",
    ),
    Diagnostic(code="MIG402", severity="note", what="int64 indices are held as int32", where="/lookup/Unique"),
)
HOSTILE = {
    "html": "</script></style></title><img src=x onerror=alert(1)><script>alert(2)</script>",
    "attribute": "\"'><svg onload=alert(1)>\" class='x' style=position:fixed",
    "jinja": "{{ 7 * 191 }}{% raw %}{# gone #}",
    "table": "a | b \\| c || `d` ``e`` \\` f |\n| --- |\n| g |",
    "markdown": "# head\n\n* item\n"
    "[link](javascript:alert(1)) ![i](http://evil.test/x) **b** <b>x</b> www.evil.test ~~s~~",
    "rich": "[red]red[/red] [link=http://evil.test]x[/link] [/] [bold",
    "terminal": "\x1b[31mred\x1b]0;title\x07 \x9b2J \r over",
    "direction": "abc\u202egpj.exe\u2028\u2066\x00\ud800",
    "long": "layer." * 400,
    "number": "1. one",
    "dashes": "---",
}


def make_example() -> Report:
    """A conversion that was verified, with every field in use."""
    return Report(
        command="convert",
        tool_version="0.1.0",
        source=SOURCE,
        target=TargetFacts(name="vendor_a", kind="reference", device="vendor_a", precision="fp32"),
        verdict=Verdict(outcome="verified", exit_status=0, reason="Every comparison with ONNX Runtime passed."),
        package="digits",
        inventory=Inventory(weights=WEIGHTS),
        changes=CHANGES,
        mapping=MAPPING,
        parity=PARITY,
        prediction=PREDICTION,
        unverified=UNVERIFIED,
        diagnostics=DIAGNOSTICS,
    )


def make_check() -> Report:
    """A check that finds a missing operator, and is far from fast."""
    missing = MappingRow(
        operator="_linalg_svd",
        state="missing",
        count=2,
        dtypes=("float32",),
        phases=("forward", "backward"),
        modules=("encoder.whiten",),
        nodes=("/encoder/whiten/SVD",),
        why="MIG401: no kernel, no decomposition",
        todo="compute the decomposition once, outside the training step",
    )
    return replace(
        make_example(),
        command="check",
        package=None,
        mapping=(*MAPPING, missing),
        parity=(),
        changes=(),
        verdict=Verdict(outcome="cannot_train", exit_status=6, reason="1 operator is missing."),
    )


def poison(value: object, text: str) -> object:
    """The same facts with `text` in every free string, so that no field is forgotten."""
    fixed = {"state", "role", "command", "outcome", "severity", "label"}
    if isinstance(value, str):
        return text
    if isinstance(value, tuple):
        return tuple(poison(item, text) for item in value)
    if isinstance(value, dict):
        return {poison(key, text): poison(item, text) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        poisoned = {
            name: poison(getattr(value, name), text) for name in value.__dataclass_fields__ if name not in fixed
        }
        if isinstance(value, SourceFacts):
            poisoned["name"] = text.replace("/", "").replace("\\", "")  # a source's name holds no folder
        return replace(value, **poisoned)
    return value


@pytest.fixture
def example() -> Report:
    """A verified conversion, every field in use."""
    return make_example()


@pytest.fixture
def check_example() -> Report:
    """A check that finds a missing and a fallback operator."""
    return make_check()


@pytest.fixture
def bare() -> Report:
    """The least that a report can hold: nothing was traced, compared or predicted."""
    return Report(
        command="convert",
        tool_version="0.1.0",
        source=SourceFacts(name="empty.onnx", format="ONNX"),
        target=TargetFacts(name="cpu", kind="host", device="cpu"),
        verdict=Verdict(outcome="unverified", exit_status=0),
    )


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE.keys())
def hostile_text(request: pytest.FixtureRequest) -> str:
    """A string that would do harm in one of the renderings."""
    return str(request.param)


@pytest.fixture
def make_hostile() -> Callable[[str], Report]:
    """Makes the example with a text in every free string."""

    def make(text: str) -> Report:
        report = poison(replace(make_example(), mapping=make_check().mapping), text)
        assert isinstance(report, Report)
        return report

    return make


@pytest.fixture
def hostile(hostile_text: str, make_hostile: Callable[[str], Report]) -> Report:
    """The example with `hostile_text` in every free string."""
    return make_hostile(hostile_text)
