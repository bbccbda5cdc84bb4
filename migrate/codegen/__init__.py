"""Graph in, package out: plan objects with final names, rendered by templates that only print.

The public door:

* `plan_package(graph, *, name, settings=None, source=None) -> PackagePlan`. `settings` is a `Settings` (loss, optimizer,
  precision, ...), `source` a `Source` (what it was made from, its hash, the tool's version). Pure: no file is touched.
* `write_package(plan, out, *, target, extra=None) -> Path`. `target` becomes `target.json`; `extra` holds further files
  (path relative to the package's root -> text or bytes). `out` is a new folder.
* `to_module(graph, *, name="model") -> nn.Module`. The same text, compiled in memory, with weights, in eval mode.
  `to_module(plan)` does so for a plan.

What verification and the audit read from a plan:

* `plan.modules: dict[str, tuple[str, ...]]`: module path (as in `named_modules`) -> names of the source's nodes;
* `plan.outputs_of: dict[str, str]`: name of a graph value -> path of the module that returns exactly that value, in call order;
* `plan.tensors: tuple[TensorPlan, ...]`: `key` (of the state_dict), `value`, `weight` (source name, steps, role, ...),
  `shape`, `dtype` and `tied_to` (the key whose storage it shares, or None).

Knows no source framework. Nothing here reads emitted text back.
"""

from migrate.codegen.memory import to_module
from migrate.codegen.names import package_name
from migrate.codegen.package import plan_package
from migrate.codegen.plan import PackagePlan, Settings, Source, TensorPlan
from migrate.codegen.render import RenderError, render_package
from migrate.codegen.write import write_package

__all__ = [
    "PackagePlan",
    "RenderError",
    "Settings",
    "Source",
    "TensorPlan",
    "package_name",
    "plan_package",
    "render_package",
    "to_module",
    "write_package",
]
