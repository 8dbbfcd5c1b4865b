"""An answer about one job: what its parts say, its tested fixes, and its text in a terminal or a report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import (
    ADVICE_OWNER,
    DECIDED_LAST,
    NO_OTHER_OUTCOMES,
    PROTECTS_EVERY,
    Cause,
    Explanation,
    ExplanationStep,
    OtherOutcomes,
)
from vcdebug.explain.queue_index import QUOTA_USED_UP
from vcdebug.snapshot.job_names import JobNames
from vcdebug.views import document
from vcdebug.views.pieces import IDLE, NO, YES, Line, Piece, Style, make_line, muted_piece
from vcdebug.views.table import Table

if TYPE_CHECKING:
    from vcdebug.explain.pending.survey import SurveyedJob

Role = Literal["sentence", "facts", "group", "release", "other outcomes", "doubt"]
_STYLES: Final[dict[Role, Style]] = {"sentence": "title", "release": "muted", "other outcomes": "warn", "doubt": "bad"}
STEP_STATES: Final = {"passed": Piece(YES, "good"), "failed": Piece(NO, "bad"), "not reached": muted_piece(IDLE)}
MAX_FACTS = 3
MAX_ADVICE_LINES = 3
"""Maximum numbers of entries per part of the short answer; --verbose shows all."""


def answer_parts(
    answer: Explanation, names: JobNames, others: OtherOutcomes = NO_OTHER_OUTCOMES
) -> dict[Role, Sequence[str]]:
    """The sentences above the fixes by their role, in order; of a part that this answer does not have, none.

    `others` are outcomes with other random choices or releases.
    """
    group_fact = names.group_facts.get(answer.job)
    return {
        "sentence": (answer.dominant.sentence_about(names),),
        "facts": answer.dominant.facts,
        "group": (group_fact,) if group_fact else (),
        "release": (f"{document.describe_release(answer.release)} {others.release_note}".rstrip(),),
        "other outcomes": others.warnings,
        "doubt": caution_lines(answer.doubt),
    }


def list_jobs(jobs: Iterable[SurveyedJob]) -> Table:
    """A row per explained job or pod, with its cause in a few words."""
    rows = list[tuple[str, ...]]()
    for job in jobs:
        answer, finding = job.explanation, job.shown_finding
        name, pending = answer.subject_name, str(job.pending or "-")
        rows.append((name, job.queue or "-", pending, finding.cause, finding.reason))
    return document.make_listing(("job", "queue", "pending#", "cause", "why"), rows, 2, prose=True)


def caution_lines(doubt: str) -> tuple[str, ...]:
    """The warning that an answer can be wrong for the given reason; no line without a reason."""
    return (f"Caution: this answer can be wrong: {doubt}",) if doubt else ()


class FixLine(NamedTuple):
    """A line of an answer's fixes: a tested fix with its number from 1, or advice with its owner and the number 0."""

    text: str
    number: int = 0
    owner: str = ""

    @property
    def marked_text(self) -> str:
        """The text with its mark in a list; advice with its owner, whom a tested fix names itself."""
        return f"{self.number}. {self.text}" if self.number else f"- {self.text}  [{self.owner}]"


def fix_lines(answer: Explanation, tested: Sequence[str] = ()) -> list[FixLine]:
    """Tested fixes between the advice that no replay can test; without any, all advice, the least harmful first."""
    if not tested:
        return [FixLine(line.text, owner=ADVICE_OWNER[line.harm]) for line in answer.advised]
    numbered = [FixLine(text, number) for number, text in enumerate(tested, start=1)]
    first, last = (
        [FixLine(line.untested_text, owner=ADVICE_OWNER[line.harm]) for line in answer.outside_advice(first=is_first)]
        for is_first in (True, False)
    )
    return [*first, *numbered, *last]


# The text of an answer. Its page on the screen has the fixes before the proof, as views/pending.py says.


def explanation_blocks(
    answer: Explanation,
    names: JobNames,
    fixes: Iterable[document.Block] = (),
    others: OtherOutcomes = NO_OTHER_OUTCOMES,
    *,
    verbose: bool = True,
) -> Iterator[document.Block]:
    """The whole answer, with the blocks of its fixes; without `verbose` long parts are cut."""
    for role, texts in answer_parts(answer, names, others).items():
        if role == "doubt" and not verbose:
            yield from _short_blocker_blocks(answer)
        shown = texts if verbose or role != "facts" else _cut_list(texts, MAX_FACTS, "fact")
        yield from (
            document.make_paragraph(text, _STYLES.get(role, ""), 0 if role == "sentence" else 2) for text in shown
        )
    yield from fixes
    if verbose:
        yield from document.titled_texts(
            "Other blockers", [f"- {one.reason} ({one.cause})" for one in answer.contributing]
        )
    yield from _evidence_blocks(answer, verbose=verbose)
    if verbose:
        yield from document.titled_blocks("Scheduling steps", [document.Listed(tuple(map(_step_line, answer.steps)))])


def _short_blocker_blocks(answer: Explanation) -> Iterator[document.Block]:
    """The first blocker that the lines above do not name already; lack of room last, since most others imply it."""
    others = sorted(answer.contributing, key=lambda finding: finding.cause == Cause.MIXED)
    full_text = answer.dominant.full_text
    # Where an action is missing, the first line says that no node has free room.
    no_room = (Cause.MIXED,) if answer.cause_code == Cause.NOT_CONFIGURED else ()
    protecting = (finding.cause for finding in others if f"{finding.cause} {PROTECTS_EVERY}" in full_text)
    implied = (*((Cause.NOT_ALLOCATABLE,) if QUOTA_USED_UP in full_text else no_room), *protecting)
    # A reason that begins a sentence has a capital there.
    said = full_text.lower()
    further = [finding for finding in others if finding.reason.lower() not in said and finding.cause not in implied]
    surplus = len(further) - 1
    more = f"; {count_noun(surplus, 'more blocker')}: --verbose" if surplus > 0 else ""
    for finding in further[:1]:
        yield document.make_paragraph(f"Also: {finding.reason} ({finding.cause}){more}", indent=2)


def _evidence_blocks(answer: Explanation, *, verbose: bool) -> Iterator[document.Block]:
    """The cause code, the arithmetic behind the first line, and the events that prove it; in short, the event that
    decides, else the arithmetic, in one line.
    """
    lines, title = answer.dominant.lines, f"Evidence (cause: {answer.cause_code})"
    rows = [f"event {event.seq}: {event.text}" for event in answer.dominant.evidence]
    yield document.make_paragraph("")
    if verbose:
        yield document.make_paragraph(title, "title")
        if lines:
            yield document.Code("\n".join(lines))
        if rows:
            yield document.Listed(tuple(map(make_line, rows)))
        return
    deciding = rows[::-1] if answer.cause_code in DECIDED_LAST else rows
    shown = next(iter((*deciding, *lines)), "")
    yield document.make_paragraph(f"{title}: {shown}" if shown else title, "muted")


def _step_line(step: ExplanationStep) -> Line:
    events = f"  event {', '.join(map(str, step.seqs))}" if step.seqs else ""
    mark, style = STEP_STATES[step.state]
    return make_line(Piece(f"{mark} {step.name}{f': {step.text}' if step.text else ''}{events}", style))


def _cut_list(texts: Sequence[str], limit: int, noun: str) -> Sequence[str]:
    """At most `limit` texts and the number of further ones, which is never 1."""
    surplus = len(texts) - limit
    return texts if surplus <= 1 else [*texts[:limit], f"… {count_noun(surplus, f'more {noun}')}: --verbose"]


def listed_fixes(
    answer: Explanation,
    tested: Sequence[str] = (),
    why_untested: str = "not tested on this snapshot",
    *,
    verbose: bool = True,
) -> Iterator[document.Block]:
    """The tested fixes with advice about what is outside the scheduler, else all advice."""
    if tested:
        lines = fix_lines(answer, tested)
        which = "the numbered ones are tested" if len(lines) > len(tested) else "tested"
        return document.titled_texts(f"Fixes ({which} on this snapshot)", [line.marked_text for line in lines])
    # A placed job has further blockers only of pods beyond those that it needs.
    pods = " for the pods that are still Pending" if answer.scheduled and answer.contributing else ""
    why = "no replay can test them" if is_all_outside(answer) and not pods else why_untested
    return listed_advice(answer, f"Suggested fixes{pods} ({why})", verbose=verbose)


def listed_advice(answer: Explanation, title: str, *, verbose: bool = True) -> Iterator[document.Block]:
    """All advice, the least harmful first; no blocks where there is none."""
    texts = [line.marked_text for line in fix_lines(answer)]
    return document.titled_texts(title, texts if verbose else _cut_list(texts, MAX_ADVICE_LINES, "fix"))


def is_all_outside(answer: Explanation) -> bool:
    """Whether all advice is about what is outside the scheduler."""
    return bool(answer.advised) and all(line.cannot_be_replayed for line in answer.advised)
