"""Choices of a run are checked where they are made."""

from __future__ import annotations

from typing import Any

import pytest

from migrate.errors import Exit, MigrateError
from migrate.options import Options


@pytest.mark.parametrize("given", [{"loss": "hinge"}, {"optimizer": "lion"}, {"precision": "fp8"}, {"loss": ""}])
def test_an_unknown_choice_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(MigrateError, match=r"MIG113.*choose from") as caught:
        Options(**given)
    assert caught.value.status == Exit.USAGE


@pytest.mark.parametrize("given", [{"batch_size": 0}, {"batch_size": -1}])
def test_a_batch_has_samples(given: dict[str, Any]) -> None:
    with pytest.raises(MigrateError, match="MIG114"):
        Options(**given)


def test_the_defaults() -> None:
    options = Options()
    assert (options.loss, options.optimizer, options.precision) == ("auto", "auto", "fp32")
    assert options.verify and not options.strict and not options.overwrite
