"""`make golden`: rewrite the golden packages. Review the difference as you would review code."""

import shutil

from tests.golden import HERE, SOURCES, emitted

for source in SOURCES:
    shutil.rmtree(HERE / source.stem, ignore_errors=True)
    for path, text in emitted(source).items():
        file = HERE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
