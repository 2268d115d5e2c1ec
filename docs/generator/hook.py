"""The MkDocs hook: adds the generated pages to the site and draws the figures in pages.

Knows MkDocs; the pages' content is made by `pages`, the figures by `figures`. What is generated is
not written into the repository, so it is never stale. The exception is the conformance page: it
states the result of a test run, and the build stops if the page does not fit the tests.
"""

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

# MkDocs loads this file by its path; the package around it is not installed anywhere.
sys.path.insert(0, str(Path(__file__).parents[1]))

from generator.conformance import PAGE, find_staleness
from generator.pages import PAGES
from generator.proof import proof_table
from generator.runs import run_figure


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let a block `run` become the figure of a recorded run, a block `proof` kept figures."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault(
        "custom_fences", []
    )
    fences.append({"name": "run", "class": "run", "format": _format_run})
    fences.append({"name": "proof", "class": "proof", "format": _format_proof})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every generated page. Raises `PluginError` for a conformance page out of step."""
    staleness = find_staleness(PAGE.read_text("utf-8") if PAGE.is_file() else None)
    if staleness is not None:
        raise PluginError(f"docs/reference/conformance.md: {staleness}; run `make conformance`")
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def _format_run(source: str, *_: Any, **__: Any) -> str:
    return run_figure(source)


def _format_proof(source: str, *_: Any, **__: Any) -> str:
    return proof_table(source)
