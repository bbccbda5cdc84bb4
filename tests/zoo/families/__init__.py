"""One file for each source of models: `names()` lists them, `case(name)` makes one. The folder is discovered."""
