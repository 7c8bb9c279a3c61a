"""Hypothesis for the theory's tests: no deadline, because it would measure the machine and not the code."""

from hypothesis import settings

settings.register_profile("theory", deadline=None)
settings.load_profile("theory")
