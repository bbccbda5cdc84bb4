"""What all tests share: property tests draw the same examples in every run, so that a run says something about a change."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")
