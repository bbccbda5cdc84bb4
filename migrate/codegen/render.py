"""A plan to texts: templates print, ruff formats and lints, the compiler and the allow-list have the last word.

The templates mirror the emitted tree: `NAME/config.py.j2` becomes `<name>/config.py`. Knows no graph.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from migrate.codegen.allow_list import check_source
from migrate.codegen.holes import number
from migrate.codegen.plan import ClassPlan, PackagePlan
from migrate.graph.ir import walk

LINE_LENGTH = 100
_FILL = 260
_RULES = "E,F,I,B,UP,PIE,PLE,RET"
_FILE_NAMES = ("layers", "blocks", "stages")
_TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
_MODEL_TEMPLATE = "NAME/model.py.j2"
_TRAIN: dict[str, dict[str, Any]] = {
    "train": {"steps": 100, "batch_size": 4, "seed": 0, "log_every": 1, "activation_checkpointing": "none"},
    "optimizer": {
        "name": "adamw", "lr": 1e-3, "weight_decay": 0.01, "betas": [0.9, 0.999], "eps": 1e-8, "momentum": 0.9,
        "clip_norm": 1.0,
    },
    "schedule": {"name": "cosine", "warmup_steps": 0, "min_lr_ratio": 0.1},
    "precision": {"mode": "fp32"},
    "data": {"kind": "synthetic", "path": ""},
    "checkpoint": {"directory": "local/checkpoints", "every": 0, "keep": 2},
    "distributed": {"bucket_mb": 25.0, "sync_batch_norm": False},
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of model code, as the template takes it."""

    name: str
    header: tuple[str, ...]
    doc: str
    legend: tuple[str, ...]
    imports: tuple[str, ...]
    classes: tuple[ClassPlan, ...]
    has_config: bool
    has_frozen: bool
    is_keras: bool
    has_attention: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    doc: str
    outputs: str
    method: str
    text: str


def doctext(text: Any) -> str:
    """A model's string as plain words, for comments and docstrings: one line of ASCII that ends neither."""
    plain = "".join(c if " " <= c <= "~" else " " if c.isspace() else "?" for c in str(text))
    return re.sub(r"[`|]|\"{2,}", "'", plain.replace("\\", "/"))[:120].strip()


def toml(value: Any) -> str:
    """A value as TOML; tables in a list are written inline."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"  # pyright: ignore[reportUnknownArgumentType]
    return json.dumps(value)


def render_package(plan: PackagePlan) -> dict[str, str]:
    """Every text file of the package that a template prints, by path.

    Raises:
        RenderError: a file does not pass ruff, the compiler or the allow-list; a bug of ours.
    """
    texts = _printed(plan)
    python = {path: text for path, text in texts.items() if path.endswith(".py")}
    return texts | _finish(python, plan.name)


def render_model(plan: PackagePlan) -> dict[str, str]:
    """The files of the model alone: the same texts as in the package."""
    env = _environment()
    texts = _model_texts(plan, env)
    texts[f"{plan.name}/config.py"] = env.get_template("NAME/config.py.j2").render(plan=plan)
    return _finish(texts, plan.name)


class RenderError(Exception):
    """What we printed is not what we may print."""


# ---- printing


@cache
def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    env.filters |= {"pyrepr": _pyrepr, "doctext": doctext, "toml": toml}
    return env


def _pyrepr(value: Any) -> str:
    return number(value) if isinstance(value, int | float | tuple) else repr(value)


def _printed(plan: PackagePlan) -> dict[str, str]:
    env = _environment()
    texts = _model_texts(plan, env)
    context = {"plan": plan, "loss": _loss(plan), "train": _train(plan)}
    for template in sorted(env.list_templates(extensions=["j2"])):
        if template != _MODEL_TEMPLATE:
            path = template.removesuffix(".j2").replace("NAME/", f"{plan.name}/")
            texts[path] = env.get_template(template).render(context)
    return texts


def _train(plan: PackagePlan) -> dict[str, dict[str, Any]]:
    return {table: {**values, **plan.settings.train.get(table, {})} for table, values in _TRAIN.items()}


def _loss(plan: PackagePlan) -> _Loss:
    kinds = {"cross_entropy": "cross entropy", "bce": "binary cross entropy", "mse": "mean squared error"}
    many = len(plan.losses) > 1
    terms = [t.text.format(f"targets[{i}]" if many else "target") for i, t in enumerate(plan.losses)]
    names = ", ".join(dict.fromkeys(kinds.get(t.kind, t.kind.replace("_", " ")) for t in plan.losses))
    on_logits = plan.has_logits and all(t.on_logits for t in plan.losses)
    return _Loss(
        doc=f"The {names} of a batch{', summed over the outputs' if many else ''}.".replace("'", ""),
        outputs="output" if len(plan.outputs) == 1 else "outputs",
        method=".logits" if on_logits else "",
        text=" + ".join(terms),
    )


def _model_texts(plan: PackagePlan, env: jinja2.Environment) -> dict[str, str]:
    """model.py, and where it would be long the files of its parts."""
    template = env.get_template(_MODEL_TEMPLATE)
    lengths = {c.name: _length(template, plan, c) for c in plan.classes}
    groups: list[list[ClassPlan]] = [list(plan.classes)]
    if sum(lengths.values()) > _FILL:
        groups = [*_filled(plan.classes[:-1], lengths), [plan.classes[-1]]]
    place: dict[str, str] = {}
    texts: dict[str, str] = {}
    for number_, group in enumerate(groups):
        last = number_ == len(groups) - 1
        name = "model" if last else _file_name(number_)
        file = _model_file(plan, name, tuple(group), place, last)
        place |= {c.name: name for c in group}
        texts[f"{plan.name}/{name}.py"] = template.render(file=file)
    return texts


def _file_name(index: int) -> str:
    return _FILE_NAMES[index] if index < len(_FILE_NAMES) else f"{_FILE_NAMES[-1]}_{index - len(_FILE_NAMES) + 2}"


def _filled(classes: Sequence[ClassPlan], lengths: Mapping[str, int]) -> list[list[ClassPlan]]:
    """Classes in order, as many to a file as fit; a class stands after those it uses."""
    groups: list[list[ClassPlan]] = []
    used = _FILL
    for one in classes:
        if used + lengths[one.name] > _FILL:
            groups.append([])
            used = 0
        groups[-1].append(one)
        used += lengths[one.name]
    return groups


def _length(template: jinja2.Template, plan: PackagePlan, one: ClassPlan) -> int:
    """Lines of a class as ruff will leave it, roughly from above."""
    file = _model_file(plan, "model", (one,), {}, False)
    lines = template.render(file=file).splitlines()
    return sum(1 if len(line) <= LINE_LENGTH else 2 + line.count(",") for line in lines) - 16


def _model_file(
    plan: PackagePlan, name: str, classes: tuple[ClassPlan, ...], place: Mapping[str, str], is_last: bool
) -> ModelFile:
    needed: dict[str, set[str]] = {}
    for one in classes:
        for used in one.uses:
            if used in place:
                needed.setdefault(place[used], set()).add(used)
    imports = [f"from .{file} import {', '.join(sorted(names))}" for file, names in sorted(needed.items())]
    if is_last:
        config = [n for n, used in (("FROZEN", plan.frozen), ("ModelConfig", plan.config)) if used]
        imports += [f"from .config import {', '.join(config)}"] if config else []
    imports += [f"from .{line}" for line in _runtime_imports(classes)]
    return ModelFile(
        name=name,
        header=_header(plan, name),
        doc=_doc(plan, name),
        legend=plan.legend if any(s.comment for c in classes for f in c.functions for s in f.statements) else (),
        imports=tuple(imports),
        classes=classes,
        has_config=bool(plan.config),
        has_frozen=bool(plan.frozen),
        is_keras=plan.source.framework.startswith("Keras"),
        has_attention=any(node.op.name == "multihead_attention" for node in walk(plan.graph.nodes))
        or any(plan.graph.classes[path].endswith(".MultiheadAttention") for path in plan.graph.arguments),
    )


def _runtime_imports(classes: tuple[ClassPlan, ...]) -> list[str]:
    """Imports of the linked runtime, for the calls that the plan marks."""
    used = {module for c in classes for f in c.functions for module in f.runtime}
    lines: list[str] = []
    if "runtime.kernels" in used:
        lines.append("runtime import kernels")
    families = sorted(m.removeprefix("runtime.functional.") for m in used if m.startswith("runtime.functional."))
    return lines + ([f"runtime.functional import {', '.join(families)}"] if families else [])


def _header(plan: PackagePlan, name: str) -> tuple[str, ...]:
    what = "The model" if name == "model" else "Parts of the model"
    name, digest = f"Source: {plan.source.name}", f"sha256 {plan.source.sha256}"
    whole = f"{name}, {digest}" if plan.source.sha256 else name
    source = (name, digest) if len(whole) > LINE_LENGTH - 2 and plan.source.sha256 else (whole,)
    return (
        f"{what} of {plan.name}, in PyTorch.",
        *source,
        f"Written by migrate {plan.source.tool_version}".rstrip() + ".",
        "Edit freely; regeneration keeps local/.",
    )


def _doc(plan: PackagePlan, name: str) -> str:
    return f"The model {plan.name}." if name == "model" else f"Modules that the model {plan.name} is built from."


# ---- ruff, the compiler, the allow-list


def _ruff() -> str:
    """The ruff program that came with this interpreter."""
    name = "ruff" + (sysconfig.get_config_var("EXE") or "")
    for folder in (Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))):
        if (folder / name).is_file():
            return str(folder / name)
    return name


def _finish(texts: dict[str, str], package: str) -> dict[str, str]:
    """Lint and format all files in one call each, then compile and check them."""
    with tempfile.TemporaryDirectory(prefix="migrate-") as folder:
        for path, text in texts.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        common = ["--isolated", "--quiet", "--no-cache", "--line-length", str(LINE_LENGTH), "--target-version", "py311"]
        ignore = ["--ignore", "B008,E501,RET504"]
        _run([_ruff(), "check", *common, "--select", _RULES, *ignore, "--fix", "."], folder)
        _run([_ruff(), "format", *common[:-2], "--target-version", "py311", "."], folder)
        done = {path: Path(folder, path).read_text(encoding="utf-8") for path in texts}
    for path, text in done.items():
        for problem in check_source(text, path, package):
            raise RenderError(f"{path}: {problem}")
    return done


def _run(command: list[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(f"{' '.join(command[1:3])} refused what was rendered:\n{done.stdout}{done.stderr}")
