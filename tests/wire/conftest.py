"""Lets the tests of this directory share `wire_samples`."""

import sys
from pathlib import Path

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
