"""Jinja templates of the emitted package; their tree is the tree that is written. They print and compute nothing."""
