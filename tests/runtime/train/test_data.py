"""Synthetic samples, shards and user datasets, and the faults of each."""

import pickle

import numpy as np
import pytest
import torch

from runtime.package import PackageError, TensorSpec
from runtime.train.data import open_samples
from runtime.train.settings import DataSettings

IMAGE = TensorSpec(name="image", shape=("batch", 2, "width"))
STATE = TensorSpec(name="state", shape=(2, 1, 3), batch_axis=1)
TABLE = TensorSpec(name="table", shape=(4,), batch_axis=None)
LABEL = TensorSpec(name="label", shape=("batch",), dtype="int64", high=5)


def of(package, **changes):
    import dataclasses

    return dataclasses.replace(package, **changes)


def test_synthetic_samples_depend_on_seed_and_index_alone(package):
    package = of(package, inputs=(IMAGE, STATE, TABLE), targets=(LABEL,), sizes={"width": 6})
    settings = DataSettings(samples=3)
    first, again, other = (open_samples(package, settings, seed) for seed in (1, 1, 2))
    assert len(first) == 3
    assert [list(t.shape) for t in first[2]] == [[2, 6], [2, 3], [4], []]
    assert all(torch.equal(a, b) for a, b in zip(first[1], again[1], strict=True))
    assert not torch.equal(first[1][0], other[1][0]) and not torch.equal(first[1][0], first[2][0])


def write_shards(folder, counts):
    start = 0
    for i, count in enumerate(counts):
        rows = np.arange(start, start + count, dtype=np.float32)
        np.savez(folder / f"part{i}.npz", x=np.stack([rows] * 3, 1), wanted=np.zeros((count, 2), np.float64))
        start += count


def test_npz_shards_are_one_row_of_samples(package, tmp_path):
    write_shards(tmp_path, [3, 1, 2])
    samples = open_samples(package, DataSettings(kind="npz", path=str(tmp_path)), 0)
    assert len(samples) == 6 and samples.groups == [3, 1, 2]
    assert [samples[i][0][0].item() for i in (0, 2, 3, 4, 5)] == [0, 2, 3, 4, 5]
    assert samples[0][1].dtype == torch.float32


def test_npy_files_are_mapped(package, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.float32).reshape(4, 3))
    np.save(tmp_path / "wanted.npy", np.zeros((4, 2), np.float32))
    samples = open_samples(package, DataSettings(kind="npz", path=str(tmp_path)), 0)
    assert len(samples) == 4 and samples[3][0].tolist() == [9, 10, 11]
    assert isinstance(samples.loaded[0]["x"], np.memmap)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 3), np.float32)}, "lacks wanted"),
        ({"x": np.zeros((2, 3), np.float32), "wanted": np.zeros((3, 2), np.float32)}, "differ in their number"),
        ({"x": np.zeros((0, 3), np.float32), "wanted": np.zeros((0, 2), np.float32)}, "no samples"),
    ],
)
def test_wrong_shards_are_refused(package, tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(PackageError, match=message):
        open_samples(package, DataSettings(kind="npz", path=str(tmp_path)), 0)


def test_pickled_arrays_are_not_loaded(package, tmp_path):
    np.savez(tmp_path / "a.npz", x=np.array([{}, {}], dtype=object), wanted=np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="allow_pickle"):
        open_samples(package, DataSettings(kind="npz", path=str(tmp_path)), 0)


def test_a_folder_that_is_missing_is_named(package, tmp_path):
    with pytest.raises(PackageError, match="nowhere"):
        open_samples(package, DataSettings(kind="npz", path=str(tmp_path / "nowhere")), 0)


class Rows:
    def __init__(self, item):
        self.item = item

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.item


X, WANTED = torch.ones(3), torch.zeros(2)


@pytest.mark.parametrize(
    "item", [(X, WANTED), ((X,), (WANTED,)), {"wanted": WANTED, "x": X}, (np.ones(3, np.float64), [0.0, 0.0])]
)
def test_a_sample_may_have_several_forms(package, item):
    samples = open_samples(of(package, dataset=lambda settings: Rows(item)), DataSettings(kind="local"), 0)
    assert [t.tolist() for t in samples[0]] == [[1, 1, 1], [0, 0]]
    assert samples[0][0].dtype == torch.float32


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (X, "has 1 tensors; needed are: x, wanted"),
        ({"x": X}, "lacks wanted"),
        ((torch.ones(4), WANTED), r"shape \[4\], and \[3\] is needed"),
        ((torch.ones(3, dtype=torch.int64), WANTED), "int64, and float32 is needed"),
    ],
)
def test_a_wrong_sample_is_refused(package, item, message):
    samples = open_samples(of(package, dataset=lambda settings: Rows(item)), DataSettings(kind="local"), 0)
    with pytest.raises(PackageError, match=message):
        samples[0]


LOCAL = """
import torch

class Mine:
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return torch.full((3,), float(index)), torch.zeros(2)

def dataset(settings):
    assert settings["kind"] == "local"
    return Mine()
"""


def test_local_data_is_found_and_crosses_processes(package, tmp_path):
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "data.py").write_text(LOCAL)
    samples = open_samples(package, DataSettings(kind="local"), 0)
    copied = pickle.loads(pickle.dumps(samples))
    assert len(copied) == 3 and copied[2][0].tolist() == [2, 2, 2]


def test_local_data_that_is_missing_says_what_to_write(package):
    with pytest.raises(PackageError, match=r"local/data\.py with a function dataset"):
        open_samples(package, DataSettings(kind="local"), 0)


def test_an_iterable_dataset_is_refused(package):
    with pytest.raises(PackageError, match="map-style"):
        open_samples(of(package, dataset=lambda settings: iter(())), DataSettings(kind="local"), 0)
