"""The panels Conf (actions, tiers and switches, flags and all other inputs of the cycle), Problems and Quirks."""

from collections.abc import Iterator, Mapping
from typing import Final

from vcdebug.actions import ACTIONS
from vcdebug.comparison.invariants import find_violations
from vcdebug.errors import closest_name_hint
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.conf import PluginOption, SchedulerConf
from vcdebug.framework.forced_answers import FORCED_CODE
from vcdebug.framework.quirks import QUIRKS
from vcdebug.model.names import Seq
from vcdebug.plugins import PLUGINS
from vcdebug.recording.input_problems import format_setting, input_problems
from vcdebug.recording.recording import Recording
from vcdebug.releases.release import Release
from vcdebug.snapshot.problems import Problem
from vcdebug.views.headline import event_place
from vcdebug.views.pieces import HERE, PROBLEM, YES, Line, Piece, make_line, muted_lines, muted_piece
from vcdebug.views.table import Row, Table, table_columns

CONF_COLUMNS = table_columns("part", "name", "set to~16")
WRONG_MARK = "!"
BY_DEFAULT = "by default"
STICKY_ARGUMENTS = (
    "a running scheduler keeps an action's argument that was removed from its file until it restarts; the replay "
    "goes by the file"
)
EntryCells = tuple[str, Piece, Piece]


def conf_table(recording: Recording) -> Table:
    """The configuration in force, in the order in which the scheduler reads it."""
    entries = enumerate(_iter_conf_entries(recording))
    rows = [Row(str(i), (muted_piece(part), name, value)) for i, (part, name, value) in entries]
    has_arguments = any(args.raw or args.defaults for args in recording.session.action_arguments.values())
    foot = muted_lines(STICKY_ARGUMENTS) if has_arguments else ()
    return Table("Conf", CONF_COLUMNS, rows, (_source_line(recording.conf),), foot)


def _source_line(conf: SchedulerConf) -> Line:
    if conf.built_in:
        return make_line(Piece("! the built-in configuration is used", "warn"))
    return make_line("the snapshot's configuration is in force")


def _iter_conf_entries(recording: Recording) -> Iterator[EntryCells]:
    conf, snapshot = recording.conf, recording.snapshot
    yield from _iter_release_entries(snapshot.release)
    elsewhere = [problem for problem in conf.problems if not problem.object.startswith("tiers[")]
    yield from (_problem_entry("file", problem) for problem in elsewhere)
    yield from _iter_action_entries(conf)
    for number, tier in enumerate(conf.tiers, start=1):
        for option in tier:
            yield from _iter_plugin_entries(f"tier {number}", option)
    yield from _iter_section_entries("metrics", conf.metrics)
    yield from _iter_section_entries("flag", snapshot.flags.changed_values(), "all as by default")
    persistence = recording.session.persistence.setting_text.removeprefix("task state persistence: ")
    yield "task state", Piece("persistence"), Piece(persistence)
    yield "chance", Piece("draws"), Piece(", ".join(snapshot.chance.setting_texts()) or "none: ties and orders by name")
    yield "clock", Piece("now"), Piece(snapshot.now.isoformat())
    plugins = {name: plugin.arguments for name, plugin in recording.session.plugins.items()}
    for arguments_by_name in (recording.session.action_arguments, plugins):
        yield from _iter_default_entries(arguments_by_name)
        yield from _iter_replaced_entries(arguments_by_name)


def _iter_release_entries(release: Release) -> Iterator[EntryCells]:
    """The release, and the rules in which it differs from the latest ones."""
    assumed_words = " (the snapshot does not say which release runs)" if release.is_assumed else ""
    version = ".".join(map(str, release.kubernetes_version))
    yield "release", Piece(release.display_name(), "strong"), muted_piece(f"Kubernetes {version}{assumed_words}")
    for change in release.changes_in_force():
        yield "open pull request" if change.is_proposed else "older rule", Piece(change.id), Piece(change.behavior)
    for change in release.unreplayed_changes():
        yield (
            "older rule",
            Piece(f"{WRONG_MARK} {change.id}", "warn"),
            Piece(f"not replayed: {change.behavior}", "warn"),
        )


def _iter_default_entries(arguments_by_name: Mapping[str, Arguments]) -> Iterator[EntryCells]:
    """Arguments that the cycle looked up and the configuration does not state, with their defaults."""
    for name, arguments in arguments_by_name.items():
        if arguments.defaults:
            values: dict[object, object] = {key: format_setting(value) for key, value in arguments.defaults.items()}
            yield BY_DEFAULT, Piece(name), muted_piece(_pairs_text(values))


def _iter_replaced_entries(arguments_by_name: Mapping[str, Arguments]) -> Iterator[EntryCells]:
    """Arguments whose stated values are not used."""
    for name, arguments in arguments_by_name.items():
        for key, value in arguments.replaced_defaults.items():
            words = f"{key}: {format_setting(value)}, since {arguments.raw[key]!r} cannot be used"
            yield "in force", Piece(f"{WRONG_MARK} {name}", "warn"), Piece(words, "warn")


def _iter_action_entries(conf: SchedulerConf) -> Iterator[EntryCells]:
    for place, name in enumerate(conf.actions, start=1):
        arguments = conf.action_arguments.get(name, {})
        is_known = name in ACTIONS
        value = Piece(_pairs_text(arguments)) if is_known else Piece(f"{WRONG_MARK} not replayed", "warn")
        yield f"action {place}", _name_piece(name, known=is_known), value
    for name in conf.action_arguments:
        if name not in conf.actions:
            yield "arguments", Piece(name), Piece(f"{WRONG_MARK} for an action that does not run", "warn")


def _iter_plugin_entries(part: str, option: PluginOption) -> Iterator[EntryCells]:
    if option.name in PLUGINS:
        yield part, Piece(option.name, "strong"), Piece(_plugin_words(option))
    else:
        meant = closest_name_hint(option.name, PLUGINS, "not replayed:")
        words = f"{WRONG_MARK} unknown plugin: {meant} its votes are missing"
        yield part, _name_piece(option.name, known=False), Piece(words, "warn")
    for problem in option.problems:
        yield _problem_entry(part, problem)


def _plugin_words(option: PluginOption) -> str:
    switches = ", ".join(f"{name}={str(on).lower()}" for name, on in sorted(option.switches.items()))
    return "  ".join(part for part in (switches, _pairs_text(option.arguments)) if part)


def _problem_entry(part: str, problem: Problem) -> EntryCells:
    name = f"  {WRONG_MARK} {problem.field}" if problem.field else WRONG_MARK
    return part, Piece(name, "warn"), Piece(f"{problem.what}; {problem.effect}", "warn")


def _name_piece(name: str, *, known: bool) -> Piece:
    return Piece(name, "strong") if known else Piece(f"{WRONG_MARK} {name}", "warn")


def _iter_section_entries(part: str, values: Mapping[str, object], nothing: str = "") -> Iterator[EntryCells]:
    for name, value in values.items():
        yield part, Piece(name), Piece(value_text(value))
    if nothing and not values:
        yield f"{part}s", Piece("–"), muted_piece(nothing)


def value_text(value: object) -> str:
    """A value of a setting as a configuration would state it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{{{_pairs_text(value)}}}" if isinstance(value, Mapping) else str(value)


def _pairs_text(values: Mapping[object, object]) -> str:
    return ", ".join(f"{name}: {value_text(value)}" for name, value in values.items())


# The panels Problems and Quirks.


MAX_CHECKED: Final = 200_000
"""Up to this number of events and pods all invariants are checked when the panel is drawn, in about half a second."""
UNCHECKED_SUMS: Final = "totals were not checked in a recording of this size: break invariant finds wrong ones"
PROBLEM_COLUMNS = table_columns("kind", "where~", "what~")


def problems_table(recording: Recording) -> Table:
    """Problems of snapshot and configuration, quirks with their events, then violated invariants."""
    rows: list[Row] = []
    for number, problem in enumerate(input_problems(recording)):
        place = ": ".join(part for part in (problem.file, problem.object, problem.field) if part)
        words = f"{problem.what}; {problem.effect}" if problem.effect else problem.what
        rows.append(Row(f"problem {number}", (Piece(f"{PROBLEM} problem", "warn"), Piece(place), Piece(words))))
    for number, note in enumerate(recording.notes):
        kind, words = ("forced", note.text) if note.code == FORCED_CODE else ("quirk", f"{note.code}: {note.text}")
        cells = (Piece(f"{PROBLEM} {kind}", "warn"), Piece(f"event {note.seq}"), Piece(words))
        rows.append(Row(f"quirk {number}", cells, note.seq))
    # A long cycle takes seconds to check: breakpoints of kind invariant do it on demand.
    checked = recording.size <= MAX_CHECKED
    for number, violation in enumerate(find_violations(recording) if checked else ()):
        cells = (Piece("≠ rule", "warn"), Piece(f"event {violation.seq}"), Piece(violation.violation_line))
        rows.append(Row(f"invariant {number}", cells, violation.seq))
    foot: tuple[Line, ...] = () if checked else muted_lines(UNCHECKED_SUMS)
    foot += () if rows else (make_line(Piece(f"{YES} nothing wrong in the snapshot, no quirk occurred", "good")),)
    return Table("Problems", PROBLEM_COLUMNS, rows, footer=foot)


MEANING: Final = "a quirk is a bug or an oddity of Volcano that a replay repeats"
QUIRK_COLUMNS = table_columns("event#", "", "quirk", "what happened~24", "can change~16", "where~")


def quirks_table(recording: Recording, seq: Seq) -> Table:
    """A row per quirk that took effect, in order of events; a row leads to its event."""
    rows = [_quirk_row(recording, number, seq) for number in range(len(recording.notes))]
    codes = dict.fromkeys(note.code for note in recording.notes)
    quirks = [QUIRKS[code] for code in codes if code in QUIRKS]
    lines = [make_line(Piece(f"{PROBLEM} {quirk.code}", "warn"), f"  {quirk.description}") for quirk in quirks]
    head = (make_line(muted_piece(MEANING)), *lines) if lines else ()
    foot = () if rows else (make_line(Piece(f"{YES} no quirk of the scheduler occurred in this cycle", "good")),)
    current = next((row.key for row in rows if row.seq == seq), "")
    return Table("Quirks", QUIRK_COLUMNS, rows, head, foot, current=current)


def _quirk_row(recording: Recording, number: int, current: Seq) -> Row:
    note = recording.notes[number]
    quirk = QUIRKS.get(note.code)
    cells = (
        Piece(str(note.seq)),
        Piece(HERE if note.seq == current else "", "here"),
        Piece(note.code, "warn"),
        Piece(note.text),
        Piece(quirk.affected_decision if quirk is not None else ""),
        muted_piece(event_place(recording, note.seq)),
    )
    return Row(f"quirk {number}", cells, note.seq)
