"""The MkDocs hook: adds the generated pages to the site and draws the figures in pages.

Knows MkDocs; the pages' content is made by `pages`, the figures by `figures`. Nothing that is
generated is ever written into the repository, so none of it can be stale.
"""

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

# MkDocs loads this file by its path; the package around it is not installed anywhere.
sys.path.insert(0, str(Path(__file__).parents[1]))

from generator.figures import sequence_figure
from generator.pages import PAGES


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let a fenced block `sequence` become a figure."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault(
        "custom_fences", []
    )
    fences.append({"name": "sequence", "class": "sequence", "format": _format_sequence})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every generated page."""
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def _format_sequence(source: str, *_: Any, **__: Any) -> str:
    return sequence_figure(source)
