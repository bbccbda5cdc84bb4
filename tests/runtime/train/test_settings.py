"""train.toml and --set: what is taken, and that everything else is refused."""

import pytest

from runtime.package import PackageError
from runtime.train.settings import Settings, load_settings, parse_override


def test_all_keys_of_the_contract_are_known(tmp_path):
    file = tmp_path / "train.toml"
    file.write_text(
        "[train]\nsteps = 3\nbatch_size = 2\nseed = 1\nlog_every = 2\n"
        '[optimizer]\nname = "sgd"\nlr = 1\nweight_decay = 0.1\nbetas = [0.8, 0.9]\neps = 1e-6\nmomentum = 0.5\nclip_norm = 0\n'
        '[schedule]\nname = "constant"\nwarmup_steps = 1\nmin_lr_ratio = 0.5\n'
        '[precision]\nmode = "bf16"\n[data]\nkind = "npz"\npath = "d"\n'
        '[checkpoint]\ndirectory = "c"\nevery = 5\nkeep = 3\n[distributed]\nbucket_mb = 1\nsync_batch_norm = true\n'
        "[kernels]\nprove = true\n"
    )
    settings = load_settings(file)
    assert settings.optimizer.lr == 1.0 and settings.optimizer.betas == (0.8, 0.9)
    assert (settings.train.steps, settings.data.kind, settings.distributed.sync_batch_norm) == (3, "npz", True)
    assert settings.kernels.prove and not Settings().kernels.prove


def test_without_a_file_all_is_default(tmp_path):
    assert load_settings(tmp_path / "train.toml") == Settings()


def test_the_last_override_wins(tmp_path):
    settings = load_settings(tmp_path / "train.toml", ["optimizer.lr=1e-4", "optimizer.lr=2e-4", "data.path=a b"])
    assert settings.optimizer.lr == 2e-4 and settings.data.path == "a b"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimizer.lrr=1", "did you mean 'optimizer.lr'"),
        ("optimiser.lr=1", "did you mean 'optimizer'"),
        ("optimizer.lr=fast", "must be of type float"),
        ("optimizer.lr=-1", "must be at least 0"),
        ("optimizer.lr=nan", "must be at least 0"),
        ("optimizer.name=adagrad", "one of adamw, adam, sgd"),
        ("optimizer.betas=0.9", "two numbers"),
        ("train.steps=0", "at least 1"),
        ("train.steps=2.5", "type int"),
        ("train.steps=true", "type int"),
        ("train.dropout=1", "type bool"),
        ("kernels.prove=1", "type bool"),
        ("kernels.prof=true", "did you mean 'kernels.prove'"),
        ("train.steps", "table.key=value"),
        ("steps=3", "table.key=value"),
    ],
)
def test_faults_are_named(tmp_path, override, message):
    with pytest.raises(PackageError, match=message):
        load_settings(tmp_path / "train.toml", [override])


@pytest.mark.parametrize("text", ["[train]\nstep = 3\n", "train = 3\n", "[train\n", "[other]\nx = 1\n"])
def test_a_wrong_file_is_refused(tmp_path, text):
    (tmp_path / "train.toml").write_text(text)
    with pytest.raises(PackageError):
        load_settings(tmp_path / "train.toml")


def test_values_are_read_as_toml_first():
    assert parse_override("a.b=true") == ("a", "b", True)
    assert parse_override("a.b = [1, 2]") == ("a", "b", [1, 2])
    assert parse_override("a.b=x=y") == ("a", "b", "x=y")
