"""Expectations: the outcome of a cycle written by a platform team, checked against a replay."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.debugger.breakpoint import find_stops, parse_breakpoint
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.errors import VcdebugError, closest_name
from vcdebug.explain.answer import Cause, Explanation
from vcdebug.explain.pending.explanation import explain_by_name, explain_subject
from vcdebug.explain.pending.survey import survey_jobs
from vcdebug.explain.subject_names import NotFoundError, find_subject
from vcdebug.recording.effects import Effect, Effects, cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name
from vcdebug.snapshot.yaml_documents import DocumentError, FieldKinds, check_fields, yaml_documents

TOTAL_FIELDS: Final = ("evictions", "nodes", "waiting")
"""Numbers of the whole cycle: pods evicted, nodes that get pods, jobs that stay unscheduled."""
_CASE_KINDS: Final[FieldKinds] = {
    "snapshot": (str,),
    "name": (str,),
    "release": (str,),
    "conf": (str,),
    "set": (list, str),
    "jobs": (dict,),
    "pods": (dict,),
    "evictions": (int,),
    "nodes": (int,),
    "waiting": (int,),
}
_JOB_KINDS: Final[FieldKinds] = {"placed": (bool,), "cause": (str, list), "pods": (int,), "nodes": (int, list)}
_POD_KINDS: Final[FieldKinds] = {"placed": (bool,), "evicted": (bool,), "node": (str, list)}


class ExpectationVerdict(NamedTuple):
    """The comparison of one expected field with the replay."""

    about: str
    """`job team/train`, `pod team/train-0`, or `cycle`."""
    field: str
    expected: object
    actual: object
    met: bool


class Expectation(Struct, frozen=True):
    """The expected outcome of one snapshot's cycle."""

    name: str
    snapshot: str
    release: str | None
    conf: str | None
    edits: tuple[str, ...]
    jobs: Mapping[str, Mapping[str, object]]
    pods: Mapping[str, Mapping[str, object]]
    totals: Mapping[str, int]
    """evictions, nodes and waiting, where they are stated."""

    @property
    def all_edits(self) -> tuple[str, ...]:
        """Edits to make before the replay, the release's first."""
        return (*((f"flag:release={self.release}",) if self.release else ()), *self.edits)


def read_expectations(text: str, where: str) -> list[Expectation]:
    """The expectations of a YAML file: a list of cases, or `expectations:` with one; raises VcdebugError."""
    try:
        document = next(yaml_documents(text), None)
    except DocumentError as error:
        raise VcdebugError(f"not YAML: {error}", where=where) from error
    cases = document.get("expectations") if isinstance(document, Mapping) else document
    if not isinstance(cases, list) or not cases:
        raise VcdebugError("is not a list of expectations", "each names a snapshot and expected outcomes", where)
    return [_read_expectation(case, f"{where}: [{index}]") for index, case in enumerate(cases)]


def _read_expectation(raw: object, where: str) -> Expectation:
    case = check_fields(raw, _CASE_KINDS, where)
    snapshot = case.get("snapshot")
    if not isinstance(snapshot, str):
        raise VcdebugError("missing field snapshot", "a path or the name of a bundled snapshot", where)
    jobs = {
        job: check_fields(fields, _JOB_KINDS, f"{where}.jobs.{job}") for job, fields in _iter_mapping(case.get("jobs"))
    }
    pods = {
        pod: check_fields(fields, _POD_KINDS, f"{where}.pods.{pod}") for pod, fields in _iter_mapping(case.get("pods"))
    }
    totals = {field: count for field in TOTAL_FIELDS if isinstance(count := case.get(field), int)}
    if not (jobs or pods or totals):
        raise VcdebugError("expects nothing", f"use one of jobs, pods, {', '.join(TOTAL_FIELDS)}", where)
    return Expectation(
        _text_or_empty(case.get("name")) or snapshot,
        snapshot,
        _text_or_empty(case.get("release")) or None,
        _text_or_empty(case.get("conf")) or None,
        _text_list(case.get("set")),
        jobs,
        pods,
        totals,
    )


def _text_or_empty(raw: object) -> str:
    return raw if isinstance(raw, str) else ""


def _text_list(raw: object) -> tuple[str, ...]:
    return (raw,) if isinstance(raw, str) else tuple(str(item) for item in raw) if isinstance(raw, list) else ()


def _iter_mapping(raw: object) -> Iterator[tuple[str, object]]:
    if isinstance(raw, Mapping):
        yield from ((str(name), value) for name, value in raw.items())


def check_expectation(expectation: Expectation, recording: Recording) -> list[ExpectationVerdict]:
    """Compare an expectation with the recording; one verdict per expected field."""
    cycle = _CycleResult(recording)
    return [
        *(verdict for job, fields in expectation.jobs.items() for verdict in _iter_job_verdicts(cycle, job, fields)),
        *(verdict for pod, fields in expectation.pods.items() for verdict in _iter_pod_verdicts(cycle, pod, fields)),
        *(_compare_value("cycle", field, count, cycle.totals[field]()) for field, count in expectation.totals.items()),
    ]


class _CycleResult:
    """The placements, evictions and totals of a cycle."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.effects: Effects = cycle_effects(recording)
        self.placements: Sequence[Effect] = (*self.effects.bound, *self.effects.pipelined)
        self.evicted = dict.fromkeys(effect.task for effect in self.effects.evicted)
        self.totals: Mapping[str, Callable[[], int]] = {
            "evictions": lambda: len(self.evicted),
            "nodes": lambda: len(dict.fromkeys(effect.node for effect in self.placements)),
            "waiting": lambda: len(survey_jobs(recording).unscheduled_jobs),
        }

    @cached_property
    def node_by_pod(self) -> Mapping[str, str]:
        """Key of each pod → its node after the cycle; empty for a pod without one."""
        jobs = self.recording.session.jobs.values()
        return {task.key: task.node_name for job in jobs for task in job.tasks.values()}

    def find_explanation(self, name: str) -> Explanation | None:
        """The explanation of a job or pod; None where nothing has that name."""
        try:
            return explain_by_name(self.recording, name)
        except NotFoundError:
            return None


def _iter_job_verdicts(cycle: _CycleResult, name: str, fields: Mapping[str, object]) -> Iterator[ExpectationVerdict]:
    explanation = cycle.find_explanation(name)
    if explanation is None:
        for field, value in fields.items():
            yield ExpectationVerdict(f"job {name}", field, value, "no such job", False)
        return
    placed = [effect for effect in cycle.placements if effect.job == explanation.job]
    nodes = sorted(dict.fromkeys(effect.node for effect in placed))
    actual: dict[str, object] = {
        "placed": explanation.scheduled,
        "cause": explanation.cause_code,
        "pods": len(placed),
        "nodes": nodes if isinstance(fields.get("nodes"), list) else len(nodes),
    }
    for field, value in fields.items():
        yield _compare_value(f"job {explanation.job}", field, value, actual[field])


def _iter_pod_verdicts(cycle: _CycleResult, name: str, fields: Mapping[str, object]) -> Iterator[ExpectationVerdict]:
    keys = [key for key in cycle.node_by_pod if key == name or bare_name(key) == name]
    if len(keys) != 1:
        missing = "no such pod in the session" if not keys else f"several: {', '.join(keys[:3])}"
        yield from (ExpectationVerdict(f"pod {name}", field, value, missing, False) for field, value in fields.items())
        return
    key = keys[0]
    actual: dict[str, object] = {
        "placed": bool(cycle.node_by_pod[key]) and key not in cycle.evicted,
        "evicted": key in cycle.evicted,
        "node": cycle.node_by_pod[key] or "none",
    }
    yield from (_compare_value(f"pod {key}", field, value, actual[field]) for field, value in fields.items())


def _compare_value(subject: str, field: str, expected: object, actual: object) -> ExpectationVerdict:
    """Compare one field: a list means any of its values, but `nodes` of a job means exactly these."""
    if isinstance(expected, list) and isinstance(actual, list):
        return ExpectationVerdict(subject, field, expected, actual, sorted(map(str, expected)) == actual)
    holds = actual in expected if isinstance(expected, list) else expected == actual
    return ExpectationVerdict(subject, field, expected, actual, holds)


STATES: Final = {"pending": "Pending", "placed": "placed", "there": "there"}
JOB_STATE: Final = re.compile(r"(\S+) is (not )?(pending|placed|there)", re.IGNORECASE)
MetReason = Callable[[Recording], str]
"""Recording → why it meets the condition, in words; empty if the condition is not met."""


def parse_until(text: str) -> MetReason:
    """Parse `JOB is [not] Pending`, `JOB is [not] placed`, `JOB is [not] there`, or the words of a breakpoint."""
    state = JOB_STATE.fullmatch(text.strip())
    if state is not None:
        return lambda recording: _job_state_reason(recording, state[1], state[3].lower(), expected=state[2] is None)
    before, is_state, word = text.strip().partition(" is ")
    if is_state and " " not in before and (guess := closest_name(word.removeprefix("not ").lower(), STATES)):
        raise BreakpointError(f"no state {word!r}", hint=f"did you mean '{before} is {STATES[guess]}'?")
    # Parsed here, so that a wrong text is an error before the first capture.
    return partial(_first_stop, text, parse_breakpoint(text, 1).command_line())


def _job_state_reason(recording: Recording, word: str, state: str, *, expected: bool) -> str:
    try:
        explained = explain_subject(recording, find_subject(recording, word))
    except NotFoundError:
        return f"{word} is not in the snapshot" if state == "there" and not expected else ""
    # A Volcano Job whose PodGroup this cycle admits has no pods yet: it is neither Pending nor placed.
    placed = explained.scheduled and explained.cause_code != Cause.ADMITTED
    holds = {"there": True, "placed": placed, "pending": not explained.scheduled}[state]
    return explained.dominant.sentence_about(recording.job_names) if holds is expected else ""


def _first_stop(text: str, command_line: str, recording: Recording) -> str:
    hits = find_stops(recording, text)[:1]
    return f"{recording.job_names.in_text(command_line)} at event {hits[0]}" if hits else ""
