"""How the answers of several plugins become one: a function per rule, not per extension point.

Upstream: framework/session_plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from vcdebug.framework.plugin import ValidateResult, Victims
from vcdebug.framework.quirks import INTERSECTION_RESTARTED, TIER_VETO_UNDONE
from vcdebug.model.task import TaskInfo

if TYPE_CHECKING:
    from vcdebug.framework.recorded_calls import RecordedCall

Args = tuple[Any, ...]  # Any: each extension point has its own
Answer = Any  # Any: each extension point has its own
Call = Callable[..., Answer]
"""A plugin's method, or a rule."""


class PluginCall(NamedTuple):
    """One plugin's function at its place in the configuration."""

    plugin: str
    call: Call
    recorded: RecordedCall | None = None
    """What the call is made up of, where it leaves events."""


NoteHere = Callable[..., None]
"""Code, text, and what fills the blanks of the text."""


class Tiers(list[list[PluginCall]]):
    """Who takes part in a hook, tier by tier, the same for the whole session; `note` names a quirk at the answer that
    was just given, `calls` are everyone's functions in order, for rules that know no tiers.
    """

    __slots__ = ("calls", "note")

    def __init__(self, tiers: Iterable[list[PluginCall]] = (), note: NoteHere = lambda *_: None) -> None:
        super().__init__(tiers)
        self.note = note
        self.calls = [plugin_call.call for tier in self for plugin_call in tier]


def first_difference(tiers: Tiers, args: Args) -> int:
    """The first non-zero comparison, else 0."""
    for call in tiers.calls:
        answer = call(*args)
        if answer != 0:
            return int(answer)
    return 0


def first_failure(tiers: Tiers, args: Args) -> ValidateResult | None:
    """The first answer that does not pass."""
    for call in tiers.calls:
        answer: ValidateResult | None = call(*args)
        if answer is not None and not answer.passed:
            return answer
    return None


def all_true(tiers: Tiers, args: Args) -> bool:
    """AND over all tiers, stopping at the first False; nobody means True."""
    for call in tiers.calls:  # noqa: SIM110 - a generator would take twice the time here
        if not call(*args):
            return False
    return True


def any_true(tiers: Tiers, args: Args) -> bool:
    """OR over all tiers, stopping at the first True; nobody means False."""
    for call in tiers.calls:  # noqa: SIM110 - as above
        if call(*args):
            return True
    return False


def first_tier_all(tiers: Tiers, args: Args) -> bool:
    """AND inside the first tier with a participant; nobody means False."""
    for tier in tiers:
        for plugin_call in tier:
            if not plugin_call.call(*args):
                return False
        if tier:
            return True
    return False


def vote(tiers: Tiers, args: Args) -> bool:
    """A rejection ends it; a tier with a permit passes without asking later ones; all abstaining passes."""
    for tier in tiers:
        permitted = False
        for plugin_call in tier:
            answer = plugin_call.call(*args)
            if answer < 0:
                return False
            permitted = permitted or answer > 0
        if permitted:
            return True
    return True


def call_all(tiers: Tiers, args: Args) -> None:
    """Everyone is told."""
    for call in tiers.calls:
        call(*args)


def first_answer(tiers: Tiers, args: Args) -> Answer:
    """The first participant decides alone, even with an empty answer; nobody means None."""
    return tiers.calls[0](*args) if tiers.calls else None


def first_not_none(tiers: Tiers, args: Args) -> Answer:
    """The first answer that is one: an error or an objection ends it, a node is taken."""
    for call in tiers.calls:
        answer = call(*args)
        if answer is not None:
            return answer
    return None


def each_answer(tiers: Tiers, args: Args) -> dict[str, Answer]:
    """plugin → answer."""
    return {plugin_call.plugin: plugin_call.call(*args) for tier in tiers for plugin_call in tier}


def tier_intersection(tiers: Tiers, args: Args) -> list[TaskInfo] | None:
    """The first tier that ends with victims decides.

    An empty answer only ends its own tier, and a disjoint one lets the next plugin of the tier start over.
    """
    vetoed = ""
    for tier in tiers:
        victims: list[TaskInfo] | None = None
        disjoint = False
        for plugin_call in tier:
            answer: Victims = plugin_call.call(*args)
            candidates, code = answer
            if code == 0:
                continue
            if not candidates:
                victims, vetoed = None, vetoed or plugin_call.plugin
                break
            if disjoint and victims is None:
                tiers.note(INTERSECTION_RESTARTED, "the tier had nobody left, and {} starts over", plugin_call.plugin)
            victims = candidates if victims is None else _intersection(victims, candidates)
            disjoint = victims is None
        if victims is not None:
            if vetoed:
                tiers.note(TIER_VETO_UNDONE, "{} offered nobody, and a later tier offers {}", vetoed, len(victims))
            return victims
    return None


def _intersection(victims: list[TaskInfo], candidates: list[TaskInfo]) -> list[TaskInfo] | None:
    """Once per equal UID, in the order of `victims`; nothing left is None."""
    matches: dict[str, int] = {}
    for task in candidates:
        matches[task.uid] = matches.get(task.uid, 0) + 1
    kept = [victim for victim in victims for _ in range(matches.get(victim.uid, 0))]
    return kept or None


def first_union(tiers: Tiers, args: Args) -> list[TaskInfo]:
    """Everything that the plugins of the first productive tier name, each object once."""
    for tier in tiers:
        union: dict[int, TaskInfo] = {}
        for plugin_call in tier:
            union.update((id(task), task) for task in plugin_call.call(*args))
        if union:
            return list(union.values())
    return []
