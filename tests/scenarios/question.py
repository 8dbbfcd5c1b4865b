"""A question that users of Volcano ask: its cluster, and what explain must answer.

The question, the thread that asked it and what Volcano does today stand at the top of the cluster's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

CLUSTERS = Path(__file__).parent / "clusters"
COMMAND = re.compile(r"^# \$ vcdebug explain (\S+) (\S+)$", re.MULTILINE)
GPU = "nvidia.com/gpu"


class Question(NamedTuple):
    """A question of a thread, and the expected answer."""

    number: int
    cause: str
    says: tuple[str, ...]
    """Expected parts of the answer's first sentence."""
    numbers: Mapping[str, float] = {}
    lines: tuple[str, ...] = ()
    """Expected parts of the lines below the sentence."""
    advice: str = ""
    """Expected part of the advice."""
    contributing: tuple[str, ...] = ()
    """Expected contributing causes."""
    problem: str = ""
    """Expected part of the only input problem; empty if none is expected."""

    @property
    def file(self) -> Path:
        """The file of the cluster."""
        (found,) = CLUSTERS.glob(f"{self.number}-*.yaml")
        return found

    @property
    def head(self) -> list[str]:
        """The comment at the top of the file, line by line."""
        text = self.file.read_text(encoding="utf-8")
        return [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]

    @property
    def job(self) -> str:
        """The job of the question."""
        found = COMMAND.search(self.file.read_text(encoding="utf-8"))
        assert found is not None
        return found[2]

    def recording(self) -> Recording:
        """The replay of the cluster."""
        return replayed(self.file.name)


@cache
def replayed(name: str) -> Recording:
    """The cached replay of a cluster."""
    return replay_cycle(load_snapshot(CLUSTERS / name))
