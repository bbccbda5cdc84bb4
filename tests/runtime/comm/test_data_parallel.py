"""Two processes under torchrun are one process with the doubled batch."""

import pytest
from torch import nn

from runtime.comm import World, data_parallel


def losses(tiny, processes, batch, *settings):
    arguments = ["train", "--steps", "5", "--batch-size", str(batch), "--json"]
    for setting in ("data.samples=16", *settings):
        arguments += ["--set", setting]
    ran = tiny.run(*arguments) if processes == 1 else tiny.torchrun(processes, *arguments)
    assert ran.status == 0, ran.err
    assert len(ran.losses) == 5
    return ran.losses


def test_alone_nothing_is_wrapped():
    module = nn.Linear(2, 2)
    assert data_parallel(module, World(), bucket_mb=25, find_unused_parameters=False) is module


def test_two_processes_give_the_losses_of_the_doubled_batch(tiny):
    settings = ("train.freeze_statistics=true", "train.dropout=false", "distributed.bucket_mb=0.001")
    assert losses(tiny, 2, 2, *settings) == pytest.approx(losses(tiny, 1, 4, *settings), rel=1e-5)


@pytest.mark.slow
def test_synchronised_statistics_are_those_of_the_doubled_batch(tiny):
    one = losses(tiny, 1, 4, "train.dropout=false")
    synchronised = losses(tiny, 2, 2, "train.dropout=false", "distributed.sync_batch_norm=true")
    assert synchronised == pytest.approx(one, rel=1e-5)


@pytest.mark.slow
def test_statistics_are_per_process_otherwise(tiny):
    one = losses(tiny, 1, 4, "train.dropout=false")
    assert losses(tiny, 2, 2, "train.dropout=false") != pytest.approx(one, rel=1e-5)
