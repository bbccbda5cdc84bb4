"""The runtime against its manifest: what was changed is named, and fails nothing."""

import hashlib
import json

import pytest

from runtime.verify import Outcome
from runtime.verify.linked import check_linked


@pytest.fixture
def linked(tmp_path):
    files = {"a.py": b"one", "hal/b.py": b"two"}
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 1, "files": digests}))
    return tmp_path


def test_an_unchanged_runtime_passes(linked):
    check = check_linked(linked)
    assert check.passed and check.detail == "2 files"


@pytest.mark.parametrize("fault", ["edited", "gone"])
def test_a_changed_file_is_named_and_fails_nothing(linked, fault):
    file = linked / "hal" / "b.py"
    file.unlink() if fault == "gone" else file.write_text("three")
    check = check_linked(linked)
    outcome = Outcome(package="p", device="d", checks=[check])
    assert not check.passed and check.detail == "changed: hal/b.py" and outcome.passed
    assert outcome.lines() == ["note  runtime as linked  changed: hal/b.py", "p on d: verified"]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"files": []}'])
def test_a_manifest_that_cannot_be_read_is_told(linked, text):
    (linked / "manifest.json").write_text(text)
    check = check_linked(linked)
    assert not check.passed and not check.failed and "manifest.json cannot be read" in check.detail


def test_without_a_manifest_there_is_nothing_to_compare(tmp_path):
    assert check_linked(tmp_path) is None
