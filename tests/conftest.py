"""What holds for every test."""

from hypothesis import settings

# No deadline per example: on a shared machine a pause is no bug, and no test here is timed.
settings.register_profile("onceonly", deadline=None)
settings.load_profile("onceonly")
