"""The same cycle under another configuration: the proof that a missing action would have helped."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import yaml

from vcdebug.explain.effects import Effects, effects
from vcdebug.framework.yaml_v2 import load_yaml
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.snapshot.edit_path import EditError
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

AFTER = ("allocate", "preempt")


class Trial(NamedTuple):
    """What a cycle with one more action does for a job."""

    action: str
    placed: tuple[tuple[TaskKey, NodeName], ...]
    evicted: tuple[TaskKey, ...]
    """Tasks of other jobs that leave for it."""


def with_action(recording: Recording, action: str) -> Recording:
    """The cycle with the action inserted where it usually stands."""
    document = load_yaml(recording.conf.text)
    raw = dict(document) if isinstance(document, dict) else {}
    raw["actions"] = ", ".join(_inserted(recording.conf.actions, action))
    text = yaml.safe_dump(raw, sort_keys=False)
    snapshot = replace(recording.snapshot, scheduler_conf=text)
    return replay(snapshot, ask_extender=recording.session.ask_extender)


def _inserted(actions: tuple[str, ...], action: str) -> list[str]:
    places = [actions.index(name) + 1 for name in AFTER if name in actions]
    place = max(places, default=len(actions))
    return [*actions[:place], action, *actions[place:]]


@per_recording()
def _effects_with(recording: Recording, action: str) -> Effects | None:
    """What came of the cycle with one more action, however many jobs ask."""
    try:
        return effects(with_action(recording, action))
    except EditError:
        return None


def try_action(recording: Recording, job: JobId, action: str) -> Trial | None:
    """None when the job would stay unplaced all the same, or a forced answer has no place in such a cycle."""
    done = _effects_with(recording, action)
    if done is None:
        return None
    placed = tuple((e.task, e.node) for e in (*done.bound, *done.pipelined) if e.job == job)
    summary = next((one for one in done.jobs if one.job == job), None)
    if not placed or summary is None or summary.ready + summary.waiting < summary.min_available:
        return None
    evicted = tuple(e.task for e in done.evicted if e.job != job and e.action == action)
    return Trial(action, placed, evicted)
