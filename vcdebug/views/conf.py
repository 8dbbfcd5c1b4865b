"""The configuration in force: actions, tiers and switches, flags, and whatever else the cycle was started with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from difflib import get_close_matches

from vcdebug.actions import ACTIONS
from vcdebug.amount_text import number
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import PluginOption, SchedulerConf
from vcdebug.plugins import PLUGINS
from vcdebug.releases.release import Release
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.snapshot import Flags
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, Piece, Row, Table, line, muted

COLUMNS = (Column("part"), Column("name"), Column("set to", flexible=True, least=16))
WRONG = "!"
BY_DEFAULT = "by default"
STICKY = (
    "a running scheduler keeps an action's argument that was removed from its file until it starts anew; the replay "
    "goes by the file"
)
Cells = tuple[str, Piece, Piece]


def conf(recording: Recording) -> Table:
    """All of it, in the order in which the scheduler reads it."""
    entries = list(_entries(recording))
    rows = [Row(str(i), (muted(part), name, value)) for i, (part, name, value) in enumerate(entries)]
    return Table("Conf", COLUMNS, rows, (_source(recording.conf),), foot=tuple(_sticky(recording)))


def _sticky(recording: Recording) -> Iterator[Line]:
    """What a snapshot cannot know of the arguments of actions, which outlive a session."""
    if any(arguments.raw or arguments.defaults for arguments in recording.session.action_arguments.values()):
        yield line(muted(STICKY))


def changed_flags(flags: Flags) -> dict[str, object]:
    """The scheduler's flags that are not the default."""
    default = Flags()
    names = (field.name for field in fields(Flags) if field.name != "release")
    return {name: getattr(flags, name) for name in names if getattr(flags, name) != getattr(default, name)}


def _source(found: SchedulerConf) -> Line:
    if found.built_in:
        return line(Piece("! the built-in configuration is in force", "warn"))
    return line("the snapshot's configuration is in force")


def _entries(recording: Recording) -> Iterator[Cells]:
    found, snapshot = recording.conf, recording.snapshot
    yield from _release(snapshot.release)
    elsewhere = [problem for problem in found.problems if not problem.object.startswith("tiers[")]
    yield from (_wrong("file", problem) for problem in elsewhere)
    yield from _actions(found)
    for at, tier in enumerate(found.tiers):
        for index, option in enumerate(tier):
            place = f"tiers[{at}].plugins[{index}]"
            yield from _plugin(f"tier {at + 1}", option, [one for one in found.problems if one.object == place])
    yield from _section("metrics", found.metrics)
    yield from _section("flag", changed_flags(snapshot.flags), "all as by default")
    yield (
        "task state",
        Piece("persistence"),
        Piece(recording.session.persistence.text.removeprefix("task state persistence: ")),
    )
    yield "chance", Piece("draws"), Piece(", ".join(snapshot.chance.texts()) or "none: ties and orders by name")
    yield "clock", Piece("now"), Piece(snapshot.now.isoformat())
    yield from _defaults(recording.session.action_arguments)
    yield from _defaults({name: plugin.arguments for name, plugin in recording.session.plugins.items()})


def _release(release: Release) -> Iterator[Cells]:
    """Whose rules decide, and what they are against the newest ones."""
    said = " (the snapshot does not say which release runs)" if release.assumed else ""
    yield (
        "release",
        Piece(release.text(), "strong"),
        muted(f"Kubernetes {'.'.join(map(str, release.kubernetes))}{said}"),
    )
    for change in release.changes():
        yield "older rule", Piece(change.id), Piece(change.what)
    for change in release.lacking():
        yield "older rule", Piece(f"{WRONG} {change.id}", "warn"), Piece(f"not replayed: {change.what}", "warn")


def _defaults(given: Mapping[str, Arguments]) -> Iterator[Cells]:
    """Arguments that were looked up and are not stated, with what holds instead."""
    for name, arguments in given.items():
        if arguments.defaults:
            values: dict[object, object] = {key: _unquoted(value) for key, value in arguments.defaults.items()}
            yield BY_DEFAULT, Piece(name), muted(_pairs(values))


def _unquoted(value: object) -> object:
    return "none" if value == "" else number(value) if isinstance(value, float) else value


def _actions(found: SchedulerConf) -> Iterator[Cells]:
    for place, name in enumerate(found.actions, start=1):
        arguments = found.action_arguments.get(name, {})
        known = name in ACTIONS
        value = Piece(_pairs(arguments)) if known else Piece(f"{WRONG} not replayed", "warn")
        yield f"action {place}", _name(name, known=known), value
    for name in found.action_arguments:
        if name not in found.actions:
            yield "arguments", Piece(name), Piece(f"{WRONG} for an action that does not run", "warn")


def _plugin(part: str, option: PluginOption, problems: Iterable[Problem]) -> Iterator[Cells]:
    if option.name in PLUGINS:
        yield part, Piece(option.name, "strong"), Piece(_plugin_words(option))
    else:
        close = get_close_matches(option.name, PLUGINS, 1)
        meant = f": did you mean {close[0]}?" if close else ", or not replayed"
        yield (
            part,
            _name(option.name, known=False),
            Piece(f"{WRONG} unknown plugin{meant} its votes are missing", "warn"),
        )
    for problem in problems:
        yield _wrong(part, problem)


def _plugin_words(option: PluginOption) -> str:
    switches = ", ".join(f"{name}={str(on).lower()}" for name, on in sorted(option.switches.items()))
    return "  ".join(part for part in (switches, _pairs(option.arguments)) if part)


def _wrong(part: str, problem: Problem) -> Cells:
    name = f"  {WRONG} {problem.field}" if problem.field else WRONG
    return part, Piece(name, "warn"), Piece(f"{problem.what}; {problem.effect}", "warn")


def _name(name: str, *, known: bool) -> Piece:
    return Piece(name, "strong") if known else Piece(f"{WRONG} {name}", "warn")


def _section(part: str, values: Mapping[str, object], nothing: str = "") -> Iterator[Cells]:
    for name, value in values.items():
        yield part, Piece(name), Piece(_text(value))
    if nothing and not values:
        yield f"{part}s", Piece("–"), muted(nothing)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{{{_pairs(value)}}}" if isinstance(value, Mapping) else str(value)


def _pairs(values: Mapping[object, object]) -> str:
    return ", ".join(f"{name}: {_text(value)}" for name, value in values.items())
