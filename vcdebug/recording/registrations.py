"""What each plugin registered when the session opened, and whether the configuration lets it take part."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final, Literal, NamedTuple

from vcdebug.framework.conf import PluginOption
from vcdebug.framework.hooks import HOOKS, AnyHook, all_switches
from vcdebug.grouping import group_by_key
from vcdebug.recording.recording import Recording

SwitchState = Literal["on", "on by default", "off", "off by default", "no switch"]
ALLOCATION_EVENTS: Final = "placements"
NEVER_REGISTERED: Final = ("NodeMap", "NodeReduce")
"""Extension points for scores that none of upstream's plugins registers: they are asked for nothing."""
DEALLOCATION_EVENTS: Final = "evictions and undone placements"


class HookRegistration(NamedTuple):
    """One hook of one plugin at its place in the configuration."""

    tier: int
    plugin: str
    hook: str
    switch: str
    state: SwitchState
    misspelt: str
    """A switch of the file that is none, and is nearest to this hook's."""

    @property
    def takes_part(self) -> bool:
        """Whether the session asks it."""
        return self.state in ("on", "on by default", "no switch")


def iter_registrations(recording: Recording) -> Iterator[HookRegistration]:
    """Every hook, plugin by plugin in configuration order."""
    functions = recording.session.functions
    for number, tier in enumerate(recording.conf.tiers, start=1):
        for option in tier:
            for hook in HOOKS:
                if (hook.method, option.name) in functions:
                    yield _build_registration(recording, number, option, hook)


def unregistered_points(recording: Recording) -> list[str]:
    """Extension points of the release that no plugin of the session registered."""
    release, taken = recording.snapshot.release, dict.fromkeys(method for method, _ in recording.session.functions)
    known = [hook for hook in HOOKS if hook.later is None or not release.has_older_form(hook.later)]
    return [hook.upstream for hook in known if hook.method not in taken]


def _build_registration(recording: Recording, tier: int, option: PluginOption, hook: AnyHook) -> HookRegistration:
    misspelt = next(
        (word for word in _unknown_switches(recording, option) if _nearest_switch(word) in hook.switches), ""
    )
    switch = " or ".join(hook.switches)
    return HookRegistration(tier, option.name, hook.upstream, switch, switch_state(option, hook), misspelt)


def switch_state(option: PluginOption, hook: AnyHook) -> SwitchState:
    """What the file says about the hook's switches, or what silence means."""
    if not hook.switches:
        return "no switch"
    stated = any(name in option.switches for name in hook.switches)
    if option.is_enabled(hook.switches):
        return "on" if stated and all(option.switches.get(name, True) for name in hook.switches) else "on by default"
    return "off" if stated else "off by default"


def _unknown_switches(recording: Recording, option: PluginOption) -> list[str]:
    places = [
        f"tiers[{number}].plugins[{index}]"
        for number, tier in enumerate(recording.conf.tiers)
        for index, one in enumerate(tier)
        if one is option
    ]
    return [problem.field for problem in recording.conf.problems if problem.object in places and problem.field]


def _nearest_switch(word: str) -> str:
    return next(iter(get_close_matches(word, list(all_switches()), 1)), "")


def handler_subjects(recording: Recording) -> Iterator[tuple[str, str]]:
    """(plugin, what it is told of), once for each, in the order in which they are told."""
    session = recording.session
    for words, listed in (
        (ALLOCATION_EVENTS, session.allocate_handlers),
        (DEALLOCATION_EVENTS, session.deallocate_handlers),
    ):
        for name, plugin in session.plugins.items():
            if any(getattr(handler, "__self__", None) is plugin for handler in listed):
                yield name, words


def event_handlers(recording: Recording) -> Iterator[tuple[str, str]]:
    """(plugin, all that it is told of) for event handlers, in the order in which they are told."""
    for name, each in group_by_key(handler_subjects(recording)).items():
        yield name, f"told of {' and '.join(each)}"
