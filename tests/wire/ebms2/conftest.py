"""Tests of the profile ebMS 2.0 on the wire."""

import sys
from pathlib import Path

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
