"""Implementations by the vendors' own libraries, one folder a device type."""
