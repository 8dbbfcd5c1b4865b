"""Searches that end after a part of the nodes: what a pod's last search found, and what it must have dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.framework.samples import parse_ranges
from vcdebug.model.names import NodeName, Row, Seq, TaskKey
from vcdebug.snapshot.chance import ChanceSettings
from vcdebug.trace.recording import Recording
from vcdebug.verify.searches import format_ranges


class SearchSample(NamedTuple):
    """One search of the replay that did not look at all nodes."""

    seq: Seq
    search: PredicateEvent
    number: int
    """How many searches for the pod were before it."""
    scores: ScoreEvent | None
    """Of the nodes that it found, if they were compared."""


def has_samples(recording: Recording) -> bool:
    """Whether any search ended before it had looked at all nodes."""
    events = (recording.event_at(seq) for seq in range(1, len(recording) + 1))
    return any(isinstance(event, PredicateEvent) and event.processed < event.considered for event in events)


def last_samples(recording: Recording, pods: Iterable[TaskKey]) -> dict[TaskKey, SearchSample]:
    """Every pod's last search, where it was a sample."""
    wanted, count = dict.fromkeys(pods), dict[TaskKey, int]()
    found: dict[TaskKey, SearchSample] = {}
    for seq in range(1, len(recording) + 1) if wanted else ():
        event = recording.event_at(seq)
        if isinstance(event, PredicateEvent) and event.task in wanted:
            number = count[event.task] = count.get(event.task, -1) + 1
            found[event.task] = SearchSample(seq, event, number, None)
        elif isinstance(event, ScoreEvent) and event.task in found:
            found[event.task] = found[event.task]._replace(scores=event)
    return {pod: one for pod, one in found.items() if one.search.processed < one.search.considered}


def is_in_sample(recording: Recording, sample: SearchSample, node: NodeName) -> bool:
    """Whether a node is among those that the sample found."""
    return any(recording.node_names[row] == node for row in sample.search.feasible.tolist())


def with_drops(recording: Recording, chance: ChanceSettings, chosen: dict[TaskKey, NodeName]) -> ChanceSettings:
    """The searches of pods that went elsewhere, with the nodes last that had a higher score than the chosen one.

    What comes last is dropped, as far as the workers have found more than was wanted: a node that would have won was.
    """
    searches = dict(chance.searches)
    for pod, sample in last_samples(recording, (pod for pod in chosen if pod in searches)).items():
        texts = searches[pod].split(";")
        rows = dict.fromkeys(_iter_higher_scored(recording, sample, chosen[pod]))
        visited = parse_ranges(texts[sample.number], len(recording.node_names)) if sample.number < len(texts) else None
        if rows and visited is not None:
            kept = [row for row in visited.tolist() if row not in rows]
            texts[sample.number] = format_ranges([*kept, *rows])
            searches[pod] = ";".join(texts)
    return replace(chance, searches=searches)


def _iter_higher_scored(recording: Recording, sample: SearchSample, node: NodeName) -> Iterator[Row]:
    if sample.scores is None:
        return
    rows = sample.scores.rows
    at = [place for place, row in enumerate(rows.tolist()) if recording.node_names[row] == node]
    if at:
        yield from rows[np.flatnonzero(sample.scores.total > sample.scores.total[at[0]])].tolist()
