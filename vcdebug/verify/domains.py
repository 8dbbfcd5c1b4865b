"""In which order a scheduler tried HyperNodes for jobs and sub jobs, as its log says it, line by line."""

from __future__ import annotations

import re

from vcdebug.model.names import JobId, SubJobId

DOMAIN_MARK = '] "Try to allocate resource for '
JOB_DOMAIN = re.compile(r'for job in hyperNode" job(?:Name)?="([^"]+)" hyperNode(?:Name)?="([^"]*)"')
SUB_JOB_DOMAIN = re.compile(r'for tasks in subJob" job="[^"]*" subJob="([^"]+)" taskNum=\d+ hyperNode="([^"]*)"')
"""Upstream: actions/allocate (allocateForJob, allocateForSubJob), from -v=3 on."""


class DomainLog:
    """The HyperNodes of one cycle, one after the other."""

    def __init__(self) -> None:
        self._jobs: dict[JobId, list[str]] = {}
        self._sub_jobs: dict[SubJobId, list[str]] = {}

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a HyperNode that is tried."""
        if DOMAIN_MARK not in line:
            return
        if match := JOB_DOMAIN.search(line):
            self._jobs.setdefault(match[1], []).append(match[2])
        elif match := SUB_JOB_DOMAIN.search(line):
            self._sub_jobs.setdefault(match[1], []).append(match[2])

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._jobs.clear()
        self._sub_jobs.clear()

    def of_jobs(self) -> dict[JobId, str]:
        """By job, as the replay takes it."""
        return _domain_texts(self._jobs)

    def of_sub_jobs(self) -> dict[SubJobId, str]:
        """By sub job, as the replay takes it."""
        return _domain_texts(self._sub_jobs)


def _domain_texts(known: dict[str, list[str]]) -> dict[str, str]:
    """Of those for which more than one was tried."""
    return {name: ";".join(tried) for name, tried in known.items() if len({*tried}) > 1}
