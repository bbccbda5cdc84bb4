"""What a run is built of, and where a checkpoint puts it."""

import dataclasses

from torch import nn

from runtime.comm import World
from runtime.hal import open_device
from runtime.train.run import Request, build_run, open_batches, resume
from runtime.train.settings import Settings, from_tables


def built(package, tables=None, **request):
    settings = from_tables(tables or {})
    return build_run(package, settings, Request(device="cpu", **request), open_device("cpu"), World())


def test_where_it_ends_does_not_bend_the_schedule(package):
    tables = {"train": {"steps": 20}}
    long, short = built(package, tables), built(package, tables, steps=5)
    assert (long.last_step, short.last_step) == (20, 5)
    assert [long.lr(step) for step in range(1, 6)] == [short.lr(step) for step in range(1, 6)]
    assert built(package, {"train": {"steps": 20}, "schedule": {"decay_steps": 40}}).lr(20) > long.lr(20)


def test_when_it_saves_and_logs(package):
    run = built(package, {"train": {"steps": 7, "log_every": 2}, "checkpoint": {"every": 3}})
    assert [step for step in range(1, 8) if run.saves_at(step)] == [3, 6, 7]
    assert [step for step in range(1, 8) if run.logs_at(step)] == [2, 4, 6]


def test_batches_have_inputs_then_targets(package):
    x, wanted = next(open_batches(built(package), 0))
    assert (x.shape, wanted.shape) == ((Settings().train.batch_size, 3), (Settings().train.batch_size, 2))


def test_the_model_is_in_training_mode(package):
    def load_model(pretrained=True):
        return nn.Sequential(nn.Linear(3, 2), nn.Dropout()).eval()

    assert built(dataclasses.replace(package, load_model=load_model)).state.model[1].training


def test_auto_without_a_checkpoint_begins_at_the_beginning(package, tmp_path):
    run = built(package, {"checkpoint": {"directory": str(tmp_path / "none")}})
    assert resume(run, "auto") == (0, 0)
