"""The command line: arguments, printing, exit codes. The work is in `migrate.pipeline`, loaded when a command runs.

stdout is for results, stderr for progress and diagnostics. No command asks a question.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer

from migrate.errors import Diagnostic, Exit, MigrateError, error

app = typer.Typer(
    name="migrate",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Move model training between accelerators: a model file in, a standalone PyTorch training package out.",
)

Model = Annotated[str, typer.Argument(metavar="MODEL", help="An .onnx, .pt2 or .pt file, or package.module:factory.")]
Target = Annotated[str, typer.Option("--target", help="A target's name (see `migrate targets`) or a .toml profile.")]
Targets = Annotated[
    list[str], typer.Option("--target", help="A target's name or a .toml profile; several are put side by side.")
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input", help="An input's shape: NAME:2,3,224,224, NAME:2,16:int64, or NAME:2,3,H,W=64 with free sizes"
    ),
]
Example = Annotated[
    Path | None, typer.Option("--example", metavar="FILE.npz", help="Example inputs of a module, by name.")
]
Pythonpath = Annotated[
    list[Path] | None, typer.Option("--pythonpath", metavar="DIR", help="Where a factory's package lies (also: here).")
]
Seed = Annotated[int, typer.Option("--seed", help="What a factory draws its weights from.")]
TrustPickle = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a file that runs code of its own: a pickled module, TorchScript.")
]
Loss = Annotated[str, typer.Option("--loss", help="auto, cross_entropy, bce or mse")]
Precision = Annotated[str, typer.Option("--precision", help="fp32, bf16 or fp16")]
Quantized = Annotated[str, typer.Option("--quantized", help="Weights of a quantised source: float or fake")]
Inferred = Annotated[
    bool, typer.Option("--inferred", help="Also take a scale and a shift after a convolution for a BatchNorm.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit 6 when the target degrades the model.")]


@app.command()
def convert(
    model: Model,
    target: Target,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The package's folder (default: NAME).")] = None,
    name: Annotated[str | None, typer.Option("--name", help="The package's name (default: from the file).")] = None,
    inputs: Inputs = None,
    example: Example = None,
    pythonpath: Pythonpath = None,
    seed: Seed = 0,
    trust_pickle: TrustPickle = False,
    loss: Loss = "auto",
    optimizer: Annotated[str, typer.Option("--optimizer", help="auto, adamw, adam or sgd")] = "auto",
    freeze: Annotated[list[str] | None, typer.Option("--freeze", help="Pattern of tensors not to train.")] = None,
    trainable: Annotated[list[str] | None, typer.Option("--trainable", help="Pattern of tensors to train.")] = None,
    precision: Precision = "fp32",
    quantized: Quantized = "float",
    inferred: Inferred = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Skip the comparison with the source.")] = False,
    strict: Strict = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace DIR, but never its local/.")] = False,
    json: Json = False,
) -> None:
    """Write a training package for a target, and prove it against the source's own engine."""
    from migrate import pipeline

    choices: Any = {"loss": loss, "optimizer": optimizer, "precision": precision, "quantized": quantized}
    options = pipeline.Options(
        name=name,
        **source_options(inputs, example, pythonpath, seed, trust_pickle),
        **choices,
        freeze=tuple(freeze or ()),
        trainable=tuple(trainable or ()),
        inferred=inferred,
        verify=not no_verify,
        strict=strict,
        overwrite=overwrite,
        progress=say,
    )
    report = pipeline.convert(model, target, out, options)
    show(report, as_json=json)
    raise typer.Exit(report.verdict.exit_status)


@app.command()
def check(
    model: Model,
    targets: Targets,
    inputs: Inputs = None,
    example: Example = None,
    pythonpath: Pythonpath = None,
    seed: Seed = 0,
    trust_pickle: TrustPickle = False,
    loss: Loss = "auto",
    precision: Precision = "fp32",
    batch_size: Annotated[int, typer.Option("--batch-size", help="Samples of the step that is audited.")] = 8,
    strict: Strict = False,
    json: Json = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write the report as one HTML page.")] = None,
) -> None:
    """Tell what a training step of the model will meet on a target: operators, dtypes, memory, time."""
    from migrate import pipeline

    if html and len(targets) > 1:
        raise MigrateError([error("MIG105", "--html takes one target", todo="give --target once")], Exit.USAGE)
    if html:
        pipeline.refuse_unwritable(html)
    options = pipeline.Options(
        **source_options(inputs, example, pythonpath, seed, trust_pickle),
        loss=cast(Any, loss),
        precision=cast(Any, precision),
        batch_size=batch_size,
        strict=strict,
        progress=say,
    )
    found = pipeline.compare(model, targets, options)
    if html:
        pipeline.write_html(found[0], html)
    show(*found, as_json=json)
    raise typer.Exit(max(report.verdict.exit_status for report in found))


@app.command()
def verify(
    directory: Annotated[Path, typer.Argument(metavar="DIRECTORY", help="A package that `migrate convert` wrote.")],
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, npu, vendor_a, ...")] = "cpu",
    json: Json = False,
) -> None:
    """Repeat a package's stored checks on a device."""
    from migrate import pipeline

    raise typer.Exit(pipeline.verify_package(directory, device=device, json=json))


@app.command()
def inspect(
    model: Model,
    inputs: Inputs = None,
    example: Example = None,
    pythonpath: Pythonpath = None,
    seed: Seed = 0,
    trust_pickle: TrustPickle = False,
    why: Annotated[str | None, typer.Option("--why", metavar="FUSION", help="Tell where it almost fitted.")] = None,
    json: Json = False,
) -> None:
    """Show a model's graph, parameters, shapes, exporter, and what is odd about it."""
    from migrate import pipeline

    options = pipeline.Options(**source_options(inputs, example, pythonpath, seed, trust_pickle))
    typer.echo(pipeline.why(model, why, options) if why else pipeline.inspect(model, options, json=json))


@app.command()
def targets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One target in full.")] = None, json: Json = False
) -> None:
    """List the targets, or show one."""
    from migrate import listing

    typer.echo(listing.targets(name, json=json))


@app.command()
def ops(
    frontend: Annotated[str, typer.Option("--frontend", help="onnx, keras or tensorflow")] = "onnx",
    target: Annotated[str | None, typer.Option("--target", help="The target's ATen operators instead.")] = None,
    json: Json = False,
) -> None:
    """List the operators that a frontend reads, or that a target has."""
    from migrate import listing

    typer.echo(listing.target_ops(target, json=json) if target else listing.frontend_ops(frontend, json=json))


def source_options(
    inputs: list[str] | None, example: Path | None, pythonpath: list[Path] | None, seed: int, trust_pickle: bool
) -> dict[str, Any]:
    """What a user says of the source, as fields of `Options`."""
    given = [parse_input(text) for text in inputs or []]
    return {
        "input_shapes": {name: sizes for name, sizes, _ in given},
        "input_dtypes": {name: dtype for name, _, dtype in given if dtype},
        "example": example,
        "pythonpath": tuple(pythonpath or ()),
        "seed": seed,
        "trust_pickle": trust_pickle,
    }


def parse_input(text: str) -> tuple[str, tuple[int | str, ...], str]:
    """`NAME:2,3,224,224` or `NAME:2,T=16:int64` as name, sizes and dtype ("" where none); a name may hold colons.

    A size with a name stays free.

    Raises:
        MigrateError: exit status 2, MIG105.
    """
    size = r"(?:\d+|[^\W\d]\w*(?:=\d+)?)"
    found = re.fullmatch(rf"(.+):({size}(?:,{size})*):([a-z]\w*)", text) or re.fullmatch(
        rf"(.+):({size}(?:,{size})*)()", text
    )
    sizes = tuple(int(size) if size.isdecimal() else size for size in found[2].split(",")) if found else (0,)
    if not found or 0 in sizes:
        todo = "write it as NAME:2,3,224,224, NAME:2,16:int64 or, with free sizes, NAME:2,3,H,W=64"
        raise MigrateError([error("MIG105", f"cannot read --input {text!r}", todo=todo)], Exit.USAGE)
    return found[1], sizes, found[3] or ""


def say(text: str) -> None:
    """One line of progress."""
    typer.echo(text, err=True)


def show(*found: Any, as_json: bool) -> None:
    """Reports on stdout: a JSON document (a list where there are several), or tables for people."""
    from rich.console import Console

    import reports

    if as_json:
        typer.echo(reports.render_json(*found), nl=False)
    elif len(found) == 1:
        reports.print_report(found[0], Console())
    else:
        reports.print_comparison(found, Console())


def fail(diagnostics: tuple[Diagnostic, ...], status: Exit) -> NoReturn:
    """Print diagnostics and leave."""
    for diagnostic in diagnostics:
        say(str(diagnostic))
    sys.exit(int(status))


def guarded(command: Callable[[], Any]) -> None:
    """Run a command; every way in which it may end has its own exit status."""
    try:
        command()
    except MigrateError as fault:
        fail(fault.diagnostics, fault.status)
    except KeyboardInterrupt:
        say("interrupted; nothing half-written is left")
        sys.exit(int(Exit.INTERRUPTED))
    except Exception:
        traceback.print_exc()
        say("this is a bug of migrate: please report it with the lines above and, if you can, the model file")
        sys.exit(int(Exit.BUG))


def main() -> None:
    """The entry point `migrate`."""
    import signal

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    guarded(app)
