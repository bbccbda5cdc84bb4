"""Readers of source formats, one folder each."""
