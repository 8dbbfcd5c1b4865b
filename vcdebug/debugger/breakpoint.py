"""A breakpoint: a kind, a condition, a count of hits, and what happens there."""

import operator
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as part
from functools import partial
from typing import Final

from msgspec import Struct

from vcdebug.debugger import expression, expression_tokens, figures
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, BreakpointError, BreakpointKind, find_kind
from vcdebug.debugger.cursor import FORWARD, Step
from vcdebug.debugger.fields import FIELD_NAMES, FIELD_TYPES, fields_of
from vcdebug.debugger.figures import QUEUE, object_names, parse_figure
from vcdebug.errors import closest_name_hint
from vcdebug.framework.record import Level, PredicateEvent, ScoreEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.names import Seq
from vcdebug.recording.event_index import JOB, NODE, PLUGIN, TASK, Seqs
from vcdebug.recording.recording import Recording

HIT_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    **expression.ORDER_SIGNS,
}
_BARE_LOG = re.compile(r"""\s+log\s+(?!["'])(\S.*)$""")
BREAKPOINT_OPTIONS: Final = ("if", "hits", "once", "log", "disabled")
CONDITION_WORDS: Final = ("if", "where", "when")
KIND_ALIASES: Final = {"on": "data"}
"""Other words for kinds: `break on queue research allocated`."""
STATEMENT_WORDS: Final = ("commit", "discard", "evict", "pipeline", "unevict", "unpipeline", "unallocate")
"""Words of the kind statement that can be without it: `break discard`."""
FIELD_LEVELS: Final = {"action": Level.ACTION, JOB: Level.JOB, TASK: Level.TASK, NODE: Level.NODE}
"""Fields that an event states itself or has from the span around it."""
_FUNCTION: Final = re.compile(r"\s*(break\s+)?(?:function\s+)?([\w./-]+\.go:\d+|[\w./-]+\.\(\*\w+\)\.\w+)(?!\S)")
_COMMENT: Final = re.compile(r"\s+(?:#|//).*$")
_IS_FUNCTION: Final = "vcdebug.debugger.breakpoints.function_kind:is_function"
_FIELD_IN_TEXT: Final = re.compile(r"\{([a-z_]+)\}")


class HitCount(Struct, frozen=True):
    """The hits at which a breakpoint stops: `== 3`, `> 2`, or every fifth (`% 5 == 0`)."""

    sign: str
    number: int
    interval: int = 0

    def is_met(self, hit: int) -> bool:
        """Whether the breakpoint stops at this hit, counted from 1."""
        return HIT_COMPARISONS[self.sign](hit % self.interval if self.interval else hit, self.number)

    def __str__(self) -> str:
        return (
            f"hits % {self.interval} {self.sign} {self.number}" if self.interval else f"hits {self.sign} {self.number}"
        )


@dataclass(slots=True)
class Breakpoint:
    """Where to stop. Hits are counted from the start of the recording, and only where the condition holds."""

    number: int
    kind: BreakpointKind
    condition: expression.Expression | None = None
    condition_text: str = ""
    hit_count: HitCount | None = None
    log: str | None = None
    """Text with {fields}, which is logged at a hit instead of stopping; None for a breakpoint that stops."""
    once: bool = False
    enabled: bool = True
    _hits: tuple[tuple[object, ...], Seqs] | None = part(default=None, repr=False, compare=False)
    """Cache: ((recording, condition, hit count), the hits for these)."""

    def command_line(self) -> str:
        """The words that set this breakpoint."""
        parts = [f"break {self.kind}"]
        if self.condition is not None:
            parts.append(f"if {self.condition_text}")
        if self.hit_count is not None:
            parts.append(str(self.hit_count))
        if self.once:
            parts.append("once")
        if self.log is not None:
            parts.append("log " + _quote_text(self.log))
        if not self.enabled:
            parts.append("disabled")
        return " ".join(parts)

    def unknown_name(self, recording: Recording) -> str:
        """`no plugin 'gagn' in this recording; did you mean gang?`, if the condition requires such a name."""
        for field, name in ({} if self.condition is None else self.condition.equalities).items():
            known = _known_names(recording, field)
            if known and name not in known:
                hint = closest_name_hint(name, known)
                return f"no {field} {name!r} in this recording{f'; {hint}' if hint else ''}"
        return ""

    def next_hit(self, recording: Recording, seq: Seq, step: Step) -> Seq | None:
        """The nearest hit beyond an event, in either direction."""
        # Counting needs every hit from the start; without a count the nearest one is found without reading the others.
        if self.hit_count is not None or self._hits is not None:
            return next(_iter_seqs_after(self.hit_seqs(recording), seq, step), None)
        return next(self._iter_matches(recording, seq, step), None)

    def hit_seqs(self, recording: Recording) -> Seqs:
        """All events at which it stops or logs; computed once per recording."""
        inputs = (recording, self.condition, self.hit_count)
        # By identity: comparing recordings with == would compare all their events.
        if self._hits is None or any(old is not new for old, new in zip(self._hits[0], inputs, strict=True)):
            self._hits = (inputs, self._all_hits(recording))
        return self._hits[1]

    def _all_hits(self, recording: Recording) -> Seqs:
        matches = self._iter_matches(recording, 0, FORWARD)
        if self.condition is None and self.kind.matches_every_candidate:
            # The index alone answers, without rebuilding a single event.
            matches = iter(self._candidate_seqs(recording))
        if self.hit_count is None:
            return list(matches)
        return [match for number, match in enumerate(matches, start=1) if self.hit_count.is_met(number)]

    def log_text(self, recording: Recording, seq: Seq) -> str:
        """Its log text at an event."""
        fields, own_fields = fields_of(recording, seq), self.kind.FIELDS

        def field_text(name: str) -> str:
            return self.kind.field_text(recording, seq, name) if name in own_fields else _value_text(fields(name))

        return _FIELD_IN_TEXT.sub(lambda match: field_text(match[1]), self.log or "")

    def stop_reason(self, recording: Recording, seq: Seq) -> str:
        """`breakpoint 2 (victim)`, followed by the kind's detail of the event."""
        detail = self.kind.stop_detail(recording, seq)
        return f"breakpoint {self.number} ({self.kind.KIND}){f': {detail}' if detail else ''}"

    def fields_at(self, recording: Recording, seq: Seq) -> expression.Fields:
        """The fields of an event that its condition knows, with those of its kind."""
        fields = fields_of(recording, seq)
        if not self.kind.FIELDS:
            return fields
        kind = self.kind
        return lambda name: kind.field_value(recording, seq, name) if name in kind.FIELDS else fields(name)

    def _iter_matches(self, recording: Recording, seq: Seq, step: Step) -> Iterator[Seq]:
        for candidate in _iter_seqs_after(self._candidate_seqs(recording), seq, step):
            if self._matches_at(recording, candidate) and self._is_first(recording, candidate):
                yield candidate

    def _matches_at(self, recording: Recording, seq: Seq) -> bool:
        if not self.kind.is_match(recording, seq):
            return False
        return self.condition is None or bool(self.condition.evaluate(self.fields_at(recording, seq)))

    def _is_first(self, recording: Recording, seq: Seq) -> bool:
        first = self.kind.first_of_group(recording, seq)
        return not any(self._matches_at(recording, earlier) for earlier in range(first, seq))

    def _candidate_seqs(self, recording: Recording) -> Seqs:
        """The kind's candidates, narrowed where the condition requires one action, job, task, node or plugin."""
        candidates = self.kind.candidate_seqs(recording)
        searches = PredicateEvent in self.kind.WATCHES or ScoreEvent in self.kind.WATCHES
        equalities = {} if self.condition is None else self.condition.equalities
        for field, name in equalities.items():
            # A condition such as `job == "a/b"` narrows the candidates by index: reading all events would take seconds.
            if field in FIELD_LEVELS or (field == PLUGIN and not searches):
                candidates = _narrow_candidates(recording, candidates, field, name, searches=searches)
        return candidates


def _known_names(recording: Recording, field: str) -> Collection[str]:
    """The names that a field of an event can have; empty for a field without a fixed list."""
    if field == "action":
        return recording.conf.actions
    if field == PLUGIN:
        return recording.conf.plugin_names()
    return object_names(recording, field) if field in (NODE, QUEUE, JOB, TASK) else ()


def _narrow_candidates(recording: Recording, candidates: Seqs, field: str, name: str, *, searches: bool) -> Seqs:
    """Candidates that state the name or lie in a span of this name; searches over nodes are not narrowed by node."""
    if field == NODE and searches:
        return candidates
    mentions = recording.index.seqs_about(field, name)
    # The intersection searches each element of the shorter list in the longer one.
    if len(mentions) > len(candidates):
        return candidates
    # A dict, not a set: candidates that state the name and also lie in its span count once, in order.
    narrowed = dict.fromkeys(_common_seqs(mentions, candidates))
    level = FIELD_LEVELS.get(field)
    for span in recording.index.spans_of(level, name) if level is not None else ():
        narrowed.update(
            dict.fromkeys(candidates[bisect_left(candidates, span.first) : bisect_right(candidates, span.last)])
        )
    return sorted(narrowed)


def _iter_seqs_after(seqs: Seqs, seq: Seq, step: Step) -> Iterator[Seq]:
    positions = (
        range(bisect_right(seqs, seq), len(seqs)) if step == FORWARD else range(bisect_left(seqs, seq) - 1, -1, -1)
    )
    return (seqs[position] for position in positions)


def _common_seqs(few: Seqs, many: Seqs) -> Seqs:
    common: list[Seq] = []
    for seq in few:
        position = bisect_left(many, seq)
        if position < len(many) and many[position] == seq:
            common.append(seq)
    return common


def _value_text(value: expression.Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "-" if value is None else str(value)


def _quote_text(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_breakpoint(line: str, number: int, recording: Recording | None = None) -> Breakpoint:
    """`[break] KIND [words] [if CONDITION] [hits == 3] [once] [log "text"] [disabled]`.

    With a recording, jobs may be named by their workloads, and names and figures that it does not have are an error.
    """
    line = line if recording is None else recording.job_names.to_ids(line)
    reader = expression_tokens.TokenReader(_quote_bare_log(_quote_function(line)))
    reader.accept_token("break")
    kind = _read_kind(reader, recording)
    point = Breakpoint(number, kind)
    if recording is not None:
        kind.check_names(recording)
    while reader.next_token.kind != "end":
        _read_option(reader, point, recording)
    return point


def breakpoint_for(recording: Recording, line: str) -> Breakpoint:
    """A breakpoint of these words; a name that the recording lacks is no error."""
    return parse_breakpoint(recording.job_names.to_ids(line), 0)


def find_stops(recording: Recording, line: str) -> list[Seq]:
    """Every event at which a breakpoint of these words would stop."""
    return list(breakpoint_for(recording, line).hit_seqs(recording))


def _quote_function(line: str) -> str:
    """`preempt.go:134 # text`, as articles have it, and `framework.(*Statement).Commit` become one quoted word."""
    match = _FUNCTION.match(line)
    return line if match is None else f'{match[1] or ""}function "{match[2]}"{_COMMENT.sub("", line[match.end() :])}'


def _quote_bare_log(line: str) -> str:
    """A log text without quotes reaches to the end of the line."""
    for match in _BARE_LOG.finditer(line):
        before = line[: match.start()]
        # The word `log` can also be part of a quoted text in the condition.
        if before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            return f"{before} log {_quote_text(match[1].strip())}"
    return line


def _read_kind(reader: expression_tokens.TokenReader, recording: Recording | None) -> BreakpointKind:
    token = reader.read_token()
    if reader.next_token.kind == "sign" and token.text in FIELD_TYPES:
        condition = reader.line[token.position :].strip()
        raise BreakpointError("a condition needs a kind of breakpoint before it", f"break vote if {condition}")
    name = KIND_ALIASES.get(token.text, token.text)
    words: list[str] = []
    figure_kind = figures.KIND_ALIASES.get(token.text, token.text)
    if token.text in STATEMENT_WORDS or figure_kind in figures.FIGURE_KINDS:
        name, words = ("statement", [token.text]) if token.text in STATEMENT_WORDS else ("data", [figure_kind])
    if name not in BREAKPOINT_KINDS and resolve_reference(_IS_FUNCTION)(token.text):
        return find_kind("function").parse_words([token.text])
    if name not in BREAKPOINT_KINDS:
        raise BreakpointError(f"no kind of breakpoint {token.text!r}", _kind_hint(token.text, recording))
    while reader.next_token.kind == "text" or (
        reader.next_token.kind == "name" and reader.next_token.text not in (*CONDITION_WORDS, *BREAKPOINT_OPTIONS)
    ):
        words.append(reader.read_token().text_content)
    return find_kind(name).parse_words(words)


def _kind_hint(word: str, recording: Recording | None) -> str:
    """What to type in place of a word that is no kind."""
    if word.isdigit():
        return f"goto {word} goes to event {word}"
    for field in ("action", PLUGIN, JOB, NODE, QUEUE, TASK):
        known = _known_names(recording, field) if recording is not None else ()
        if name := next((name for name in known if name == word or name.endswith(f"/{word}")), ""):
            return f'break vote if {field} == "{name}"'
    return closest_name_hint(word, BREAKPOINT_KINDS, f"kinds are {', '.join(BREAKPOINT_KINDS)}")


def _read_option(reader: expression_tokens.TokenReader, point: Breakpoint, recording: Recording | None) -> None:
    token = reader.read_token()
    if token.text in CONDITION_WORDS:
        start = reader.next_token.position
        point.kind.has_condition = True
        check = None if recording is None else partial(_check_figure, recording)
        # The type of a kind's own fields depends on its figure.
        known: expression.KnownFields = {**FIELD_TYPES, **dict.fromkeys(point.kind.FIELDS, "any")}
        point.condition = expression.read_expression(reader, known, check)
        point.condition_text = reader.line[start : reader.next_token.position].strip()
    elif token.text == "hits":
        point.hit_count = _hit_count(reader)
    elif token.text == "log":
        point.log = _read_log_text(reader, (*FIELD_NAMES, *point.kind.FIELDS))
    elif token.text == "once":
        point.once = True
    elif token.text == "disabled":
        point.enabled = False
    else:
        raise reader.error_at(f"expected one of {', '.join(BREAKPOINT_OPTIONS)}, found {token.shown_text}", token)


def _check_figure(recording: Recording, words: tuple[str, ...]) -> None:
    """Raise FigureError for a figure that the recording does not have; of `it` only the part is known."""
    kind, name, *parts = words
    names = [name] if name != expression.EACH else [*object_names(recording, kind)][:1]
    for one in names:
        parse_figure(recording, (kind, one, *parts))


def _hit_count(reader: expression_tokens.TokenReader) -> HitCount:
    every = 0
    if reader.accept_token("%"):
        every = _read_whole_number(reader)
        if every < 1:
            raise reader.error_at("hits are counted in steps of at least 1")
    sign = reader.accept_token(*HIT_COMPARISONS)
    if sign is None and not every and reader.next_token.kind == "number":
        return HitCount("==", _read_whole_number(reader))
    if sign is None:
        raise reader.error_at(f"expected one of {' '.join(HIT_COMPARISONS)}")
    return HitCount(sign.text, _read_whole_number(reader), every)


def _read_whole_number(reader: expression_tokens.TokenReader) -> int:
    token = reader.read_token()
    if token.kind != "number" or not token.text.isdigit():
        raise reader.error_at("expected a whole number", token)
    return int(token.text)


def _read_log_text(reader: expression_tokens.TokenReader, field_names: Sequence[str]) -> str:
    token = reader.read_token()
    if token.kind != "text":
        raise reader.error_at("log needs a text in quotes", token)
    unknown = [name for name in _FIELD_IN_TEXT.findall(token.text_content) if name not in field_names]
    if unknown:
        raise reader.error_at(f"no field {unknown[0]!r}; fields are {', '.join(field_names)}", token)
    return token.text_content
