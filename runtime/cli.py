"""The command line of an emitted package: arguments, printing, exit statuses. Does no work of its own.

    python -m NAME train | verify | export

Exit statuses: 0 done, 1 the run cannot go on, 2 wrong usage, 3 unreadable input, 4 not supported, 5 verification failed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import torch

from .comm import end_process
from .hal import DeviceError, device_class, device_types
from .package import Package, PackageError

VERIFICATION_FAILED = 5
WRONG_USAGE = 2
FAULT = 1
"""Of this code or the package, or a run that cannot go on."""


def default_device(package: Package) -> str:
    """The target's device where it is a product and can be used here, else the one that torch itself uses."""
    profile = package.profile
    if profile is not None:
        facts = json.loads(profile.read_text(encoding="utf-8"))
        kind = facts["device"]["type"]
        if facts["kind"] != "reference" and kind in device_types() and device_class(kind).available():
            return kind
    return torch.get_default_device().type


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _parser(package: Package) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {package.name}", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help="train the model", allow_abbrev=False)
    train.add_argument("--steps", type=_positive, help="the step to end at (train.steps)")
    train.add_argument("--batch-size", type=_positive, help="samples a step and process (train.batch_size)")
    train.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="as in optimizer.lr=1e-4")
    train.add_argument("--resume", metavar="auto|DIR", help="go on from the latest checkpoint, or from the one in DIR")
    train.add_argument("--checkpoint-dir", metavar="DIR", help="where checkpoints go (checkpoint.directory)")

    verify = commands.add_parser("verify", help="compare with what the source computed", allow_abbrev=False)
    verify.add_argument("--trace", type=Path, metavar="FILE", help="write each module's output (safetensors)")
    verify.add_argument("--case", help="the golden case to trace; the first if left out")
    for command in (train, verify):
        command.add_argument("--device", default=default_device(package), help="default: %(default)s")
        command.add_argument("--json", action="store_true", help="machine-readable output")

    export = commands.add_parser("export", help="write the model as ONNX", allow_abbrev=False)
    export.add_argument("file", type=Path, metavar="OUT.onnx")
    export.add_argument("--weights", type=Path, metavar="FILE", help="weights.safetensors of a training run")
    return parser


def _train(package: Package, arguments: argparse.Namespace) -> int:
    from .train import Request, load_settings, train

    overrides: list[str] = list(arguments.set)
    if arguments.batch_size is not None:
        overrides.append(f"train.batch_size={arguments.batch_size}")
    if arguments.checkpoint_dir is not None:
        overrides.append(f"checkpoint.directory={json.dumps(arguments.checkpoint_dir, ensure_ascii=False)}")
    settings = load_settings(package.directory / "train.toml", overrides)
    request = Request(device=arguments.device, steps=arguments.steps, resume=arguments.resume, as_json=arguments.json)
    train(package, settings, request)
    return 0


def _verify(package: Package, arguments: argparse.Namespace) -> int:
    from .verify import verify

    outcome = verify(package, arguments.device, arguments.trace, arguments.case)
    print(json.dumps(outcome.document(), indent=1) if arguments.json else "\n".join(outcome.lines()))
    return 0 if outcome.passed else VERIFICATION_FAILED


def _export(package: Package, arguments: argparse.Namespace) -> int:
    from .export import export_onnx

    print(export_onnx(package, arguments.file, arguments.weights))
    return 0


def _say(error: Exception) -> None:
    rank = os.environ.get("RANK", "0")
    where = "" if rank == "0" else f"[rank {rank}] "
    print(f"{where}error: {error}", file=sys.stderr, flush=True)


def main(package: Package, argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave the process with its exit status.

    Args:
        package: the package that is run.
        argv: the arguments; None takes those of the process.
    """
    arguments = _parser(package).parse_args(argv)
    run = {"train": _train, "verify": _verify, "export": _export}[arguments.command]
    try:
        status = run(package, arguments)
    except PackageError as error:
        _say(error)
        status = error.status
    except DeviceError as error:
        _say(error)
        status = WRONG_USAGE
    except Exception:
        traceback.print_exc()
        status = FAULT
    end_process(status)
