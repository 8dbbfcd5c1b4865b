"""Format, lint, strict types and import contracts, as tests that run in parallel with the others."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.recorded import ROOT

BIN = Path(sys.executable).parent
TOOLS = (("mypy",), ("lint-imports",), ("ruff", "format", "--check", "."), ("ruff", "check", "."))
"""The slowest tool comes first."""


@pytest.mark.parametrize("tool", TOOLS, ids=" ".join)
def test_each_tool_reports_no_fault(tool: tuple[str, ...]) -> None:
    done = subprocess.run([BIN / tool[0], *tool[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
