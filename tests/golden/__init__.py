"""Golden packages: the texts that the code generator emits for a few small sources, committed and compared byte by byte."""

from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = sorted((HERE / "sources").glob("*.onnx"))


def emitted(source: Path) -> dict[str, str]:
    """What is emitted for a source: the package's own Python files and settings, by path."""
    from migrate.pipeline import plan
    from migrate.codegen import render_package

    texts = render_package(plan(source))
    return {path: text for path, text in texts.items() if path.split("/")[0] == source.stem}
