"""The worker's answers, in this process: what a task returns, what it raises, and what is a bug."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from migrate.errors import Exit, MigrateError, error
from migrate.frontends.pytorch import worker
from migrate.frontends.pytorch.worker import Session, answer


def ask(task: str, **arguments: Any) -> dict[str, Any]:
    return answer(Session(), Path(), {"task": task, "arguments": arguments})


def test_a_task_is_a_function_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(session: Session, folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"twice": 2 * arguments["value"], "folder": str(folder)}

    monkeypatch.setattr(worker, "double", double, raising=False)
    assert ask("worker:double", value=4) == {"result": {"twice": 8, "folder": "."}}


def test_a_diagnostic_keeps_its_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise MigrateError([error("MIG126", "it fails", where="mine.py:3", why="because")], Exit.INPUT)

    monkeypatch.setattr(worker, "refuse", refuse, raising=False)
    document = ask("worker:refuse")
    assert document["status"] == Exit.INPUT
    assert document["error"][0]["where"] == "mine.py:3"


def test_our_own_fault_is_a_bug() -> None:
    document = ask("worker:no_such_task")
    assert "no_such_task" in document["bug"] and document["status"] == Exit.BUG
