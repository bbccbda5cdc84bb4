"""The process in which the user's code lives: `python -m migrate.frontends.pytorch.worker FOLDER`.

Answers questions, one JSON document a line on stdin, one answer a line on what was stdout. A question names a task as
`module:function` of this package; the function takes the session, the folder for tensors and the question's arguments, and
returns a JSON object. What the user's code prints goes to stderr. The process ends with its parent.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

from migrate.errors import Exit, MigrateError


@dataclass(slots=True, kw_only=True)
class Session:
    """What the process holds between questions: the module as the user built it, example inputs, how it trains, its engine."""

    module: Any = None
    inputs: Any = None
    training: dict[str, Any] = field(default_factory=dict[str, Any])
    engine: Any = None


Task = Callable[[Session, Path, dict[str, Any]], dict[str, Any]]


def find_task(name: str) -> Task:
    """The function that a question names."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(f"migrate.frontends.pytorch.{module}"), function)


def answer(session: Session, folder: Path, question: dict[str, Any]) -> dict[str, Any]:
    """The answer's document: `result`, or `error` with the diagnostics and the exit status, or `bug` with a traceback."""
    try:
        return {"result": find_task(question["task"])(session, folder, question["arguments"])}
    except MigrateError as fault:
        return {"error": [asdict(diagnostic) for diagnostic in fault.diagnostics], "status": int(fault.status)}
    except Exception:
        import traceback

        return {"bug": traceback.format_exc(), "status": int(Exit.BUG)}


def private_streams() -> tuple[TextIO, TextIO]:
    """Questions and answers on descriptors of our own; the user's code reads nothing and prints to stderr."""
    questions, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return questions, answers


def main() -> None:
    """Answer until the parent closes the stream or is gone; the folder is removed by whoever ends last."""
    folder = Path(sys.argv[1])
    questions, answers = private_streams()
    session = Session()
    for line in questions:
        print(json.dumps(answer(session, folder, json.loads(line))), file=answers, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)  # the user's code may have left threads that never end


if __name__ == "__main__":
    main()
