"""The place on disk: what is refused, what is left behind, and what is kept of a package that is replaced."""

from pathlib import Path

import pytest

from migrate.errors import Exit, MigrateError
from migrate.folders import install, package_in, refuse_taken, stage_beside


def package(folder: Path, text: str = "{}") -> Path:
    (folder / "net").mkdir(parents=True)
    (folder / "net" / "weights.json").write_text(text)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def code_of(folder: Path, overwrite: bool) -> str:
    try:
        refuse_taken(folder, overwrite)
    except MigrateError as fault:
        assert fault.status == Exit.USAGE
        return fault.diagnostics[0].code
    return ""


def test_a_place_is_refused_unless_it_is_free_or_a_package_to_replace(tmp_path: Path) -> None:
    made, empty, other, file = package(tmp_path / "made"), tmp_path / "empty", tmp_path / "other", tmp_path / "file"
    empty.mkdir()
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    file.write_text("x")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    found = {p.name: (code_of(p, False), code_of(p, True)) for p in (made, empty, other, file, tmp_path / "dangling")}
    assert found == {
        "made": ("MIG107", ""),
        "empty": ("MIG107", ""),
        "other": ("MIG107", "MIG117"),
        "file": ("MIG107", "MIG117"),
        "dangling": ("MIG107", "MIG117"),
    }
    refuse_taken(tmp_path / "free", False)


def test_a_package_is_known_by_its_weights(tmp_path: Path) -> None:
    assert package_in(package(tmp_path / "a")) == "net"
    assert package_in(tmp_path) is None


def test_the_stage_leaves_nothing_where_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="disk full"), stage_beside(tmp_path / "new" / "deep" / "out") as stage:
        assert stage.parent == tmp_path / "new" / "deep"
        raise RuntimeError("disk full")
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(MigrateError, match="MIG118"), stage_beside(tmp_path / "file" / "out"):
        pass
    assert names(tmp_path) == ["file"]


def test_the_users_own_survives_overwriting(tmp_path: Path) -> None:
    out = package(tmp_path / "out", "old")
    (out / "local").mkdir()
    (out / "local" / "data.py").write_text("mine = 1\n")
    (out / "stray.txt").write_text("x")
    staged = package(tmp_path / "staged", "new")
    (staged / "local").mkdir()
    (staged / "local" / "data.py").write_text("fresh = 1\n")
    install(staged, out, overwrite=True)
    assert (out / "net" / "weights.json").read_text() == "new"
    assert (out / "local" / "data.py").read_text() == "mine = 1\n"
    assert names(out) == ["local", "net"] and names(tmp_path) == ["out"]


def test_what_has_appeared_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Between the first look and the end of the work somebody may have put files there."""
    out, staged = tmp_path / "out", package(tmp_path / "staged")
    out.mkdir()
    (out / "thesis.tex").write_text("x")
    for overwrite in (False, True):
        with pytest.raises(MigrateError, match=r"MIG1[01]7"):
            install(staged, out, overwrite=overwrite)
    assert names(out) == ["thesis.tex"]


def test_the_old_package_is_put_back_where_renaming_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, staged = package(tmp_path / "out", "old"), package(tmp_path / "staged", "new")
    before = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self == staged:
            raise OSError("busy")
        return before(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="busy"):
        install(staged, out, overwrite=True)
    assert (out / "net" / "weights.json").read_text() == "old"
