"""What keeps the code base in shape: import arrows, sizes, mirrored tests, the command line's surface and its start-up."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("migrate", "runtime", "reports")
# A part may import the parts named here, itself, and `migrate.errors`. The longest prefix of a module decides its part.
ARROWS: dict[str, set[str]] = {
    "migrate.errors": set(),
    "migrate.graph": set(),
    "migrate.frontends": {"migrate.graph", "runtime"},  # a source is measured by the function that measures a package
    "migrate.opmap": set(),
    "migrate.codegen": {"migrate.graph", "runtime"},
    "migrate.verify": {"migrate.graph", "runtime"},
    "migrate.options": set(),
    "migrate.folders": set(),
    "migrate.training": {
        "migrate.options",
        "migrate.graph",
        "migrate.codegen",
        "migrate.frontends",
        "migrate.training_setup",
    },
    "migrate.training_setup": {"migrate.codegen", "migrate.frontends", "runtime"},
    "migrate.sources": {"migrate.graph", "migrate.frontends", "migrate.options"},
    "migrate.listing": {"migrate.opmap", "migrate.frontends"},
    "migrate.facts": {
        "migrate",
        "migrate.options",
        "migrate.graph",
        "migrate.codegen",
        "migrate.opmap",
        "migrate.sources",
        "reports",
    },
    "migrate.pipeline": set(),
    "migrate": {"migrate.pipeline"},
    "migrate.cli": {"migrate.pipeline", "migrate.listing", "reports"},
    "reports": set(),
    "runtime": set(),
}
ARROWS["migrate.pipeline"] = set(ARROWS) - {"migrate.cli"}
FRAMEWORKS = {
    "onnx": ("migrate.frontends.onnx",),
    "onnx_ir": ("migrate.frontends.onnx",),
    "onnxruntime": ("migrate.frontends.onnx", "runtime.cli", "runtime.export"),
    "tensorflow": ("migrate.frontends.tensorflow",),
    "keras": ("migrate.frontends.keras.worker",),
    "h5py": ("migrate.frontends.keras",),
}
MAX_FILE, MAX_FUNCTION = 300, 40
SURFACE = {
    "convert": "MODEL --target --out --name --input --example --pythonpath --seed --trust-pickle --loss --optimizer "
    "--freeze --trainable --precision --quantized --inferred --no-verify --strict --overwrite --json",
    "check": "MODEL --target --input --example --pythonpath --seed --trust-pickle --loss --precision --batch-size --strict "
    "--json --html",
    "verify": "DIRECTORY --device --json",
    "inspect": "MODEL --input --example --pythonpath --seed --trust-pickle --why --json",
    "targets": "NAME --json",
    "ops": "--frontend --target --json",
}


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def part_of(module: str) -> str:
    return max((p for p in ARROWS if module == p or module.startswith(p + ".")), key=len, default="")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            name = ".".join([*base, *filter(None, [node.module])])
            known = [
                f"{name}.{alias.name}"
                for alias in node.names
                if (ROOT / name.replace(".", "/") / f"{alias.name}.py").exists()
            ]
            yield from ((node.lineno, found) for found in known or [name])


def length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    first = function.body[0]
    documented = ast.get_docstring(function) is not None
    return lines - ((first.end_lineno or 0) - first.lineno + 1 if documented else 0)


def test_imports_follow_the_arrows() -> None:
    wrong = []
    for path in sources():
        here = part_of(module_name(path))
        for line, module in imports_of(path):
            there = part_of(module)
            if there and there != here and there != "migrate.errors" and there not in ARROWS[here]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert wrong == []


def test_no_two_parts_import_each_other() -> None:
    pairs = {(part_of(module_name(p)), part_of(m)) for p in sources() for _, m in imports_of(p)}
    both = {(a, b) for a, b in pairs if a and b and a < b and (b, a) in pairs}
    assert both - {("migrate", "migrate.pipeline")} == set(), "the package's door is the only exception"


def test_frameworks_stay_in_their_frontend() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources()
        for line, module in imports_of(path)
        for framework, homes in FRAMEWORKS.items()
        if module.split(".")[0] == framework and not module_name(path).startswith(homes)
    ]
    assert wrong == []


def test_the_runtime_imports_itself_relatively() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "runtime").rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] in PACKAGES
    ]
    assert wrong == []


@pytest.mark.parametrize("path", list(sources()), ids=lambda p: str(p.relative_to(ROOT)))
def test_sizes_and_docstrings(path: Path) -> None:
    text = path.read_text()
    assert text.isascii(), "code is ASCII"
    assert len(text.splitlines()) <= MAX_FILE
    assert ast.get_docstring(tree_of(path)), "a module says what it holds"
    functions = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef)]
    assert [f"{f.name}: {length(f)} lines" for f in functions if length(f) > MAX_FUNCTION] == []


def test_tests_mirror_the_code() -> None:
    """`part/name.py` is tested in `tests/part/test_name.py`, or with its folder in `test_part.py`, there or beside it."""
    missing = []
    for path in sources():
        relative = path.relative_to(ROOT)
        if path.name.startswith("__"):
            continue
        folder = ROOT / "tests" / relative.parent
        whole = f"test_{folder.name}.py"
        homes = (folder / f"test_{path.stem.lstrip('_')}.py", folder / whole, folder.parent / whole)
        if not any(home.exists() for home in homes):
            missing.append(str(relative))
    assert missing == []


def test_every_test_folder_mirrors_a_folder_of_code() -> None:
    stray = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.parent not in (ROOT / "tests", ROOT / "tests" / "zoo", ROOT / "tests" / "readability")
        and not (ROOT / path.parent.relative_to(ROOT / "tests")).is_dir()
    ]
    assert stray == []


def test_no_word_of_the_machine() -> None:
    """No path of a machine in tracked text."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    pattern = re.compile(r"(?<![\w.])/(?:root|work|farm)/")
    wrong = [
        name
        for name in listed
        if Path(name).suffix in {".py", ".md", ".toml", ".txt", ".j2"} and pattern.search((ROOT / name).read_text())
    ]
    assert wrong == []


def test_the_command_line_has_this_surface() -> None:
    """Changing it is a change for users: CHANGELOG first, then here."""
    from typer.main import get_command

    from migrate.cli import app

    found = {}
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        arguments = [p.metavar or p.name for p in command.params if p.param_type_name == "argument"]
        options = [max(p.opts, key=len) for p in command.params if p.param_type_name == "option"]
        found[name] = set(arguments) | set(options)
    assert found == {name: set(text.split()) for name, text in SURFACE.items()}


def test_help_loads_no_framework() -> None:
    code = (
        "import sys\nfrom migrate.cli import app\nfrom typer.main import get_command\n"
        "get_command(app).main(['--help'], standalone_mode=False)\n"
        "heavy = {'torch', 'onnx', 'onnx_ir', 'onnxruntime', 'numpy', 'tensorflow', 'jinja2', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
