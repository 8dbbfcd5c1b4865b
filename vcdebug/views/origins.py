"""The page and the report of `why`: a tree of a fact, its rule, and the facts from which it follows.

The page Source: upstream's function of the event, with its text where the user has a checkout.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.facts import EventFact, Fact, FieldFact, FigureFact
from vcdebug.debugger.figures import figure_history, figure_value, format_figure
from vcdebug.debugger.origins import fact_words, find_fact, origin_of
from vcdebug.model.names import Seq
from vcdebug.recording.call_stack import function_at, source_of
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.edit_path import field_step
from vcdebug.snapshot.loader import FieldLines
from vcdebug.views.document import Block, make_paragraph
from vcdebug.views.headline import event_headline
from vcdebug.views.pieces import Piece, make_line, muted_lines, muted_piece
from vcdebug.views.table import Row, Table, table_columns

WHY_DEPTH: Final = 4
"""The number of levels shown below a fact; the command and Enter show more below any of them."""
COLUMNS: Final = table_columns("fact~", "because~")
FOOT: Final = "Fields of the snapshot end the tree."


class OriginLine(Struct, frozen=True):
    """One line of the tree: a fact as text."""

    tree_prefix: str
    """The characters that draw the tree in front of the fact."""
    fact: Fact
    text: str
    reason: str
    """The rule behind the fact, or the single field that states it; `see above` if its sources were already listed."""


class OriginTree:
    """Writes the tree below a fact; the sources of each fact are listed once."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lines = FieldLines(recording.snapshot.origin)
        self._shown_facts: dict[Fact, None] = {}

    def write_lines(
        self, fact: Fact, depth: int = WHY_DEPTH, role: str = "", guides: tuple[str, str] = ("", "")
    ) -> Iterator[OriginLine]:
        """Yields the lines of a fact and its sources down to `depth` levels; `guides` are those of fact and sources."""
        text = f"{role}: {self._fact_text(fact)}" if role else self._fact_text(fact)
        if fact in self._shown_facts:
            yield OriginLine(guides[0], fact, text, "see above")
            return
        rule, sources = origin_of(self._recording, fact)
        if sources:
            self._shown_facts[fact] = None
        fields = [source.fact for source in sources if isinstance(source.fact, FieldFact)]
        if not rule and len(fields) == len(sources) == 1:
            yield OriginLine(guides[0], fact, text, self._field_text(fields[0], fact))
            return
        yield OriginLine(guides[0], fact, text, rule)
        for place, source in enumerate(sources if depth else (), start=1):
            ends = ("└ ", "  ") if place == len(sources) else ("├ ", "│ ")
            inner = (f"{guides[1]}{ends[0]}", f"{guides[1]}{ends[1]}")
            yield from self.write_lines(source.fact, depth - 1, source.role, inner)

    def _fact_text(self, fact: Fact) -> str:
        """A figure with its value, an event with its outcome, a field with its place in the file."""
        if isinstance(fact, FieldFact):
            return self._field_text(fact)
        if isinstance(fact, EventFact):
            headline = event_headline(self._recording, fact.seq)
            return f"event {fact.seq}: {headline.event_text} {headline.outcome.text}".rstrip()
        value = format_figure(fact.figure, figure_value(self._recording, *fact))
        # A figure that no event changes needs no time.
        moves = figure_history(self._recording, fact.figure).changes
        when = "" if not moves else f" after event {fact.seq}" if fact.seq else " as the session opens"
        return f"{fact.figure} is {value}{when}"

    def _field_text(self, field: FieldFact, of: Fact | None = None) -> str:
        """`Pod/ml/train-0 spec.priority: 10  (pods.yaml:12)`; without the object if it is that of the fact `of`."""
        steps = (field_step(str(step)) if isinstance(step, str) else f"[{step}]" for step in field.steps)
        is_own_object = isinstance(of, FigureFact) and of.figure.name in (field.name, field.name.rpartition("/")[2])
        place = self._lines.find_line(field.kind, field.name, field.steps)
        words = ("" if is_own_object else f"{field.kind}/{field.name} ", "".join(steps).lstrip("."), f": {field.value}")
        return "".join((*words, f"  ({place})" if place else ""))


def why_table(here: DebuggerState, words: str = "") -> Table:
    """The page of `why`, by default about the event."""
    fact = find_fact(here.recording, here.seq, words or f"event {here.seq}")
    rows = [
        Row(
            "" if isinstance(line.fact, FieldFact) else fact_words(line.fact),
            (Piece(line.tree_prefix + line.text), muted_piece(line.reason)),
        )
        for line in OriginTree(here.recording).write_lines(fact)
    ]
    return Table("Why", COLUMNS, rows, footer=muted_lines(FOOT))


def why_commands(row: Row) -> tuple[str, ...]:
    """The commands of a row: `why` about its fact, and `goto` its event."""
    return (f"why {row.key}", f"goto {row.key.rpartition(' ')[2]}") if row.key else ()


def why_blocks(recording: Recording, fact: Fact, depth: int) -> Iterator[Block]:
    """The text report: a line per fact, with the reason below it."""
    for line in OriginTree(recording).write_lines(fact, depth):
        yield make_paragraph(f"{line.tree_prefix}{line.text}", "" if line.tree_prefix else "title")
        if line.reason:
            below = line.tree_prefix.replace("├", "│").replace("└", " ")
            yield make_paragraph(f"{below}    {line.reason}", "muted")


def why_document(recording: Recording, fact: Fact, depth: int) -> dict[str, object]:
    """The JSON document: the facts in the order of the tree, each with its depth."""
    return {
        "facts": [
            {
                "depth": len(line.tree_prefix) // 2,
                "text": line.text,
                "because": line.reason,
                **({"event": line.fact.seq} if not isinstance(line.fact, FieldFact) else {}),
            }
            for line in OriginTree(recording).write_lines(fact, depth)
        ]
    }


# The page Source.

SourceReader = Callable[[str], Sequence[str]]
"""Returns the lines of a file below pkg/scheduler in the user's checkout; empty if it has no such file."""
SOURCE_COLUMNS: Final = table_columns("line#", "text~")
"""The line of upstream's file, and its text."""
NO_CHECKOUT: Final = "--source DIR or VCDEBUG_SOURCE, a checkout of Volcano, shows its text"


def source_table(recording: Recording, seq: Seq, source: SourceReader | None) -> Table:
    """The function's place and rule; with a checkout, its text."""
    function, release = function_at(recording, seq), recording.session.release.display_name()
    place = f"{function.file}:{function.first_line}-{function.last_line}"
    head = [make_line(Piece(function.short_name, "strong"), f" {place}", muted_piece(f" in {release}"))]
    if rule := origin_of(recording, EventFact(seq)).rule:
        head.append(make_line(f"rule: {rule}"))
    lines = function.lines_in(source) if source is not None else ()
    if source is None:
        head.append(make_line(muted_piece(NO_CHECKOUT)))
    elif not lines:
        commit = source_of(recording).commit
        head.append(make_line(Piece(f"! the checkout has something else there: git checkout {commit} has it", "warn")))
    # The width of a tab depends on the terminal, so tabs are replaced by spaces.
    texts = ((str(number), line.replace("\t", "    ")) for number, line in enumerate(lines, function.first_line))
    rows = [Row(number, make_line(muted_piece(number), text)) for number, text in texts]
    return Table("Source", SOURCE_COLUMNS, rows, tuple(head), current=str(function.first_line))
