"""Exit statuses and messages of `python -m NAME`."""

import pytest

from runtime.cli import default_device, main


def status(package, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(package, arguments)
    return caught.value.code


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["train", "--steps", "0"],
        ["train", "--steps", "many"],
        ["train", "--fast"],
        ["train", "--set", "optimizer.lrr=1"],
        ["train", "--set", "lr"],
        ["train", "--device", "abacus"],
        ["train", "--resume", "nowhere"],
        ["train", "--set", "data.kind=npz", "--set", "data.path=nowhere"],
        ["export"],
    ],
)
def test_wrong_usage_is_2_and_one_message(package, arguments, capsys):
    assert status(package, *arguments) == 2
    shown = capsys.readouterr()
    assert "error: " in shown.err and "Traceback" not in shown.err and shown.out == ""


def test_without_a_golden_file_verify_says_so(package, capsys):
    assert status(package, "verify") == 3
    assert "convert without --no-verify" in capsys.readouterr().err


def test_train_takes_its_arguments(package, tmp_path, capsys):
    arguments = ["--steps", "2", "--batch-size", "3", "--checkpoint-dir", str(tmp_path / "a b"), "--json"]
    assert status(package, "train", *arguments, "--set", "optimizer.lr=0.5") == 0
    assert (tmp_path / "a b" / "weights.safetensors").is_file()
    assert capsys.readouterr().out.count('"lr": 0.5') == 1


def test_a_fault_of_the_code_has_a_traceback(package, capsys):
    import dataclasses

    def load_model(pretrained=True):
        raise RuntimeError("broken")

    assert status(dataclasses.replace(package, load_model=load_model), "train") == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["reference", "product"])
def test_the_default_device_is_one_that_can_be_used(package, kind):
    (package.directory / "target.json").write_text(f'{{"kind": "{kind}", "device": {{"type": "cpu"}}}}')
    assert default_device(package) == "cpu"
