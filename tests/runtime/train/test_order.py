"""The order of samples is one sequence, whatever the processes that share it."""

from itertools import islice, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from runtime.package import PackageError, TensorSpec
from runtime.train.order import BatchOrder, batches, collate, epoch_order
from runtime.train.settings import DataSettings


def indices(steps, groups=(7,), batch_size=4, rank=0, world_size=1, position=0, seed=5):
    order = BatchOrder(
        groups,
        batch_size=batch_size,
        rank=rank,
        world_size=world_size,
        seed=seed,
        shuffle=True,
        position=position,
    )
    return list(islice(order, steps))


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 9))
def test_processes_share_what_one_process_would_see(batch_size, world_size, samples):
    whole = indices(4, (samples,), batch_size * world_size)
    shares = [indices(4, (samples,), batch_size, rank, world_size) for rank in range(world_size)]
    assert whole == [[i for share in step for i in share] for step in zip(*shares, strict=True)]


def test_a_position_continues_the_sequence():
    assert indices(6)[2:] == indices(4, position=8)


def test_every_epoch_has_every_sample_once_in_another_order():
    flat = [i for batch in indices(7) for i in batch]
    epochs = [flat[7 * e : 7 * e + 7] for e in range(4)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs) and epochs[0] != epochs[1]


def test_a_shard_is_used_up_before_the_next_begins():
    order = epoch_order([3, 1, 4], seed=0, epoch=2, shuffle=True)
    shards = [0 if i < 3 else 1 if i < 4 else 2 for i in order]
    changes = sum(a != b for a, b in pairwise(shards))
    assert sorted(order) == list(range(8)) and changes == 2


def test_unshuffled_is_the_order_of_storage():
    assert epoch_order([2, 2], seed=0, epoch=1, shuffle=False) == [0, 1, 2, 3]


SPECS = (
    TensorSpec(name="x", shape=("batch", 2)),
    TensorSpec(name="h", shape=(3, 1), batch_axis=1),
    TensorSpec(name="t", shape=(4,), batch_axis=None),
)


def test_batches_are_stacked_along_each_batch_axis():
    samples = [(torch.full((2,), i), torch.full((3,), i), torch.arange(4)) for i in (0.0, 1.0)]
    x, h, t = collate(SPECS, samples)
    assert (x.shape, h.shape, t.shape) == ((2, 2), (3, 2), (4,)) and h[0].tolist() == [0, 1]


def test_samples_of_unlike_shapes_are_refused():
    with pytest.raises(PackageError, match="pad them"):
        collate(SPECS[:1], [(torch.ones(2),), (torch.ones(3),)])


class Counting:
    """A dataset that can cross into a worker process."""

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return (torch.full((2,), float(index)),)


def test_making_batches_leaves_the_global_generator_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    order = BatchOrder([7], batch_size=2, rank=0, world_size=1, seed=5, shuffle=True, position=4)
    first = next(batches(Counting(), SPECS[:1], order, DataSettings()))
    assert torch.equal(before, torch.get_rng_state())
    assert first[0][:, 0].tolist() == indices(1, batch_size=2, position=4)[0]
