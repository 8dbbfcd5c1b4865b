"""Breakpoints on upstream's functions: `break gang.preemptableFn`, `break preempt.go:134`."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, Self

from vcdebug.debugger.breakpoints import BreakpointError, BreakpointKind
from vcdebug.errors import closest_name_hint
from vcdebug.explain.decisions.votes import hook_calls_at
from vcdebug.framework import record
from vcdebug.framework.record import Level
from vcdebug.model.names import Seq
from vcdebug.recording.call_stack import ROWS, frames_at, function_names, source_of
from vcdebug.recording.event_index import PLUGIN, Seqs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.upstream_source import SourceFunction, UpstreamSource, replayed_sources, upstream_source

_LINE: Final = re.compile(r"(.*\.go):(\d+)")
MAX_RELEASES: Final = 3
"""Number of other releases that a message names for a function."""
_CALLED: Final = (record.PopEvent, record.PredicateEvent, record.ScoreEvent, record.BestEvent, record.OpEvent,
                  record.StatementEvent, record.StateEvent, record.CloseEvent)  # fmt: skip
"""Events that stand for a call of an upstream function, besides hook calls."""


class FunctionBreakpoint(BreakpointKind):
    """The first event of each call of a function; with a condition, the first that fulfils it."""

    KIND = "function"
    HELP = "a function of Volcano is called (gang.preemptableFn, allocate.Execute, preempt.go:134)"
    WATCHES = (record.HookEvent, *_CALLED)

    @classmethod
    def parse_words(cls, words: Sequence[str]) -> Self:
        if len(words) != 1:
            raise BreakpointError("break function needs one function or FILE:LINE", hint=cls.HELP)
        return cls(words)

    def check_names(self, recording: Recording) -> Self:
        require_function(recording, self.words[0])
        return self

    def candidate_seqs(self, recording: Recording) -> Seqs:
        function = _find_function(recording, self.words[0])
        return () if function is None else calls_of(recording, function, whole=self.has_condition)

    def first_of_group(self, recording: Recording, seq: Seq) -> Seq:
        if not self.has_condition:
            return seq
        function = _find_function(recording, self.words[0])
        frame = next((call for call in frames_at(recording, seq) if call.function == function), None)
        span = frame and frame.level is not None and recording.span_tree.span_around(seq, frame.level)
        return span.first if span else seq

    def is_match(self, recording: Recording, seq: Seq) -> bool:
        function = _find_function(recording, self.words[0])
        return function is not None and _is_inside(recording, seq, function)

    def describe_meaning(self, recording: Recording) -> str:
        function = require_function(recording, self.words[0])
        line = _LINE.fullmatch(self.words[0])
        release = recording.session.release
        text = f"{function} in {release.display_name()}"
        return text if line is None else text + _describe_elsewhere(line[1], int(line[2]), function, release.name)

    def __str__(self) -> str:
        return f'{self.KIND} "{self.words[0]}"'


def is_function(text: str) -> bool:
    """Whether some replayed release has a function of that name, or the text is FILE:LINE."""
    if _LINE.fullmatch(text):
        return True
    return any(upstream_source(name).functions_named(text) for name in replayed_sources())


def require_function(recording: Recording, text: str) -> SourceFunction:
    """The function that a name or FILE:LINE means in the replayed release; raises BreakpointError without one."""
    source, release = source_of(recording), recording.session.release.display_name()
    functions = _find_functions(source, text)
    if not functions:
        raise BreakpointError(f"{release} has no function {_function_words(text)}", hint=_find_elsewhere(source, text))
    recorded = [function for function in functions if function.name in function_names(source, function.file)]
    if not recorded:
        raise BreakpointError(f"no recorded event belongs to {functions[-1]} of {release}")
    if len(recorded) > 1 and not _LINE.fullmatch(text):
        every = ", ".join(function.short_name for function in recorded)
        raise BreakpointError(f"{release} has {len(recorded)} functions {text}", hint=f"write one of {every}")
    return recorded[-1]


@per_recording()
def recorded_functions(recording: Recording) -> list[str]:
    """The names that a breakpoint can take, in the order of the source."""
    source = source_of(recording)
    functions = source.functions
    names = {file: function_names(source, file) for file in dict.fromkeys(function.file for function in functions)}
    return list(dict.fromkeys(function.short_name for function in functions if function.name in names[function.file]))


@per_recording(64)
def calls_of(recording: Recording, function: SourceFunction, *, whole: bool = False) -> list[Seq]:
    """The first event of each call of a function; with `whole`, all events while the function runs."""
    levels = _levels_of(function)
    if levels:
        spans = (span for span in recording.spans if span.level in levels and _runs_in(recording, span, function))
        inside = (_inside_span(recording, span, function) for span in spans)
        return sorted(dict.fromkeys(seq for seqs in inside for seq in (seqs if whole else islice(seqs, 1))))
    index, source = recording.index, source_of(recording)
    own_hooks = [hook for hook, names in source.asking.items() if function.name in names]
    own_hooks += [hook for (hook, _), names in source.registered.items() if function.name in names]
    hooks = own_hooks or ([] if function.file.startswith(("util/", "framework/statement")) else list(source.asking))
    calls = {seq for hook in hooks for seq in index.seqs_at_point(hook) if _begins_call(recording, seq, function)}
    called_seqs = {seq for kind in _CALLED for seq in index.seqs_of_type(kind)} if not own_hooks else ()
    calls.update(seq for seq in called_seqs if frames_at(recording, seq)[-1].function == function)
    return sorted(calls)


def _begins_call(recording: Recording, seq: Seq, function: SourceFunction) -> bool:
    """Whether the event is a call of this plugin function, or the first call of plugins by this function."""
    event, plugin = recording.event_at(seq), function.file.split("/")[1].replace("-", "")
    if function.file.startswith("plugins/") and getattr(event, PLUGIN).replace("-", "") != plugin:
        return False
    if not _is_inside(recording, seq, function):
        return False
    call = hook_calls_at(recording, seq)
    return function.file.startswith("plugins/") or call is None or call.first_seq == seq


def _runs_in(recording: Recording, span: record.Span, function: SourceFunction) -> bool:
    """Whether a span has events and lies in an action that the function belongs to."""
    folder = function.file.split("/")[1] if "/" in function.file else ""
    action = recording.span_tree.name_around(span.first, Level.ACTION) if span.first <= span.last else None
    return action is not None and folder in ("", "utils", action)


def _inside_span(recording: Recording, span: record.Span, function: SourceFunction) -> Iterator[Seq]:
    return (seq for seq in range(span.first, span.last + 1) if _is_inside(recording, seq, function))


def _is_inside(recording: Recording, seq: Seq, function: SourceFunction) -> bool:
    return any(frame.function == function for frame in frames_at(recording, seq))


def _levels_of(function: SourceFunction) -> set[Level]:
    """Levels of the spans that one call of an action's function fills; empty for other functions."""
    if function.name == "runOnce":
        return {Level.CYCLE}
    if not function.file.startswith("actions/"):
        return set()
    names = (row for rows in ROWS.values() for row in rows if row.function == function.name)
    return {Level.ACTION} if function.name == "Execute" else {row.level for row in names}


@per_recording(64)
def _find_function(recording: Recording, text: str) -> SourceFunction | None:
    """Same as require_function, but returns None if the recording's release lacks the function."""
    try:
        return require_function(recording, text)
    except BreakpointError:
        return None


def _find_functions(source: UpstreamSource, text: str) -> list[SourceFunction]:
    line = _LINE.fullmatch(text)
    return source.functions_at(line[1], int(line[2])) if line else source.functions_named(text)


def _function_words(text: str) -> str:
    line = _LINE.fullmatch(text)
    return f"that holds line {line[2]} of {line[1]}" if line else repr(text)


def _find_elsewhere(source: UpstreamSource, text: str) -> str:
    """Hint that names other releases with the function, or else the closest function name."""
    releases = [name for name in replayed_sources() if _find_functions(upstream_source(name), text)]
    if not releases:
        return closest_name_hint(text, [one.name for one in source.functions], "FILE:LINE or a function's name")
    return f"{_list_releases(releases)}: {_find_functions(upstream_source(releases[0]), text)[-1]}"


def _describe_elsewhere(file: str, line: int, function: SourceFunction, release: str) -> str:
    """Text about the functions at this line in other releases, as far as they differ; else empty."""
    releases_of: dict[str, list[str]] = {}
    for name in replayed_sources():
        functions = upstream_source(name).functions_at(file, line)
        if functions and functions[-1].short_name != function.short_name and name != release.partition(",")[0]:
            releases_of.setdefault(functions[-1].short_name, []).append(name)
    return "".join(f"; line {line} is in {name} in {_list_releases(names)}" for name, names in releases_of.items())


def _list_releases(names: Sequence[str]) -> str:
    """At most MAX_RELEASES of the names, and the number of further ones."""
    remainder = f" and {len(names) - MAX_RELEASES} more" if len(names) > MAX_RELEASES else ""
    return ", ".join(names[:MAX_RELEASES]) + remainder
