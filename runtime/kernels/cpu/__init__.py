"""Implementations for the host processor."""
