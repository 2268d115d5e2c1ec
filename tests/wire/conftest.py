"""Lets the tests of this directory share `wire_samples`, and the samples of `ebms2`."""

import sys
from pathlib import Path

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "ebms2")]
