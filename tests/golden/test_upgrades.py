"""Which changes part a release from the newest rules, against what was measured in the real scheduler.

`changes.json` says of a case which switches alter its recording when they alone are set as in the newest rules.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from vcdebug.debugger.upgrades.search import carried_out
from vcdebug.debugger.upgrades.upgrade import search_for
from vcdebug.releases.naming import named_release
from vcdebug.snapshot.load import load

HERE = Path(__file__).parent
BESIDE = HERE.parents[2] / "shared" / "golden"
SAMPLE = {"v1.15.1": 15, "v1.14.4": 12}
"""Every so many cases of the corpus are looked at."""
ONE_SWITCH = {"gang-close-releasing": "podgroup-phase-releasing"}
"""Measured together, and called like the other one here."""
MEASURED_OTHERWISE = {
    ("v1.15.1", "preempt-0003"): ["preempt-no-predicate-recheck", "preempt-requeue-after-assign"],
    ("v1.15.1", "nominated-0000"): ["preempt-requeue-after-assign"],
    ("v1.15.1", "mixed-0008"): ["preempt-requeue-after-assign"],
    ("v1.15.1", "predicates-0009"): ["preempt-requeue-after-assign"],
    ("v1.15.1", "wild-0031"): ["gang-close-releasing"],
    ("v1.14.4", "wildcore-0001"): ["reserve-failure-continues"],
}
"""Changes that alter the replay of a recording that is itself replayed exactly, and were not measured to do so."""


class Case(NamedTuple):
    """One input, and what was measured there."""

    release: str
    given: Path
    altering: Sequence[str]

    @property
    def name(self) -> str:
        return f"{self.release}-{self.given.name}"


def measured(folder: Path) -> Mapping[str, Sequence[str]]:
    document: Mapping[str, Sequence[str]] = json.loads((folder / "changes.json").read_text())
    return document


def copies() -> list[Case]:
    """A case per family and release."""
    cases: dict[tuple[str, str], Case] = {}
    for release in SAMPLE:
        for name, altering in measured(HERE / "releases" / release).items():
            cases.setdefault((release, name.rpartition("-")[0]), Case(release, HERE / "random" / name, altering))
    return list(cases.values())


def corpus() -> list[Case]:
    if not BESIDE.is_dir():
        return []
    return [
        Case(release, BESIDE / name, altering)
        for release, step in SAMPLE.items()
        for name, altering in list(measured(BESIDE / "releases" / release).items())[::step]
    ]


def alone(ids: Sequence[str], among: frozenset[str]) -> list[str]:
    return sorted({ONE_SWITCH.get(name, name) for name in ids if name in among})


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in copies()]
    + [pytest.param(case, id=f"corpus-{case.name}", marks=pytest.mark.corpus) for case in corpus()],
)
def test_the_changes_that_alter_a_recording_are_those_that_were_measured(case: Case) -> None:
    snapshot, after = load(case.given), named_release(case.release).release
    search, trials = search_for(snapshot, after)
    carried_out(search, lambda wanted: [trials(mixture) for mixture in wanted])
    among = switches(case.release)
    expected = [*case.altering, *MEASURED_OTHERWISE.get((case.release, case.given.name), ())]
    assert alone(expected, among) == alone([one.id for one in search.alone], among)
    assert search.deciding is not None
    assert search.failed == 0


def switches(release: str) -> frozenset[str]:
    """The changes that were switched at all."""
    folder = BESIDE if BESIDE.is_dir() else HERE
    return frozenset(name for ids in measured(folder / "releases" / release).values() for name in ids)
