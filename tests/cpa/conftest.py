"""The import of a CPA needs no gateway."""

import sys
from pathlib import Path

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))
