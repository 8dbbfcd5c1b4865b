"""The reports of `vcdebug explain JOB` and `ask`: the sentence, its arithmetic, the proof, and what would help."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import snapshot_options
from vcdebug.cli.output import Output
from vcdebug.cli.render import write_blocks
from vcdebug.explain.answer import (
    ADVICE_OWNER,
    DECIDED_LAST,
    NO_OTHER_OUTCOMES,
    Cause,
    Explanation,
    Finding,
    NamedQuestion,
    OtherOutcomes,
    QuestionReply,
)
from vcdebug.explain.pending.doubts import doubt_of_input
from vcdebug.explain.pending.gates.not_in_session import incomplete
from vcdebug.explain.queue_index import QUOTA_USED_UP
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.job_names import JobNames
from vcdebug.views.document import Block, make_listing, make_paragraph, release_paragraph, titled_blocks, titled_listing
from vcdebug.views.pieces import Style

STEP_MARKS = {"passed": "✓", "failed": "✗", "not reached": "·"}
STEP_STYLES: dict[str, Style] = {"passed": "good", "failed": "bad", "not reached": "muted"}


def explanation_document(explanation: Explanation) -> dict[str, object]:
    """The JSON document of an explanation; the keys are a contract."""
    return {
        "job": explanation.job,
        "pod": explanation.pod,
        "outcome": "scheduled" if explanation.scheduled else "unscheduled",
        **_finding_document(explanation.dominant),
        "contributing": [_finding_document(finding) for finding in explanation.contributing],
        "advice": list(explanation.advice_texts),
        "release": explanation.release.build_document(),
        **({"doubt": explanation.doubt} if explanation.doubt else {}),
        "steps": [
            {"step": step.name, "state": step.state, "text": step.text, "events": list(step.seqs)}
            for step in explanation.steps
        ],
    }


def _finding_document(finding: Finding) -> dict[str, object]:
    return {
        "cause": finding.cause,
        "sentence": finding.sentence,
        "facts": list(finding.facts),
        "numbers": {
            name: {"value": _json_number(number.value), "unit": number.unit} for name, number in finding.numbers.items()
        },
        "evidence": [{"seq": evidence.seq, "text": evidence.text} for evidence in finding.evidence],
        "lines": list(finding.lines),
    }


def _json_number(value: float) -> float | int | str:
    # JSON has no number for infinity.
    if abs(value) > 1e300:
        return "inf" if value > 0 else "-inf"
    return int(value) if value == int(value) else value


MAX_FACTS = 3
MAX_ADVICE_LINES = 3
"""Maximum numbers of entries per part of the short answer; --verbose shows all."""


def explanation_blocks(
    explanation: Explanation,
    names: JobNames,
    *,
    advice: bool = True,
    verbose: bool = True,
    fixes: Sequence[Block] = (),
    others: OtherOutcomes = NO_OTHER_OUTCOMES,
) -> Iterator[Block]:
    """The text report; `advice` is false where tried fixes follow, `fixes` are tested ones in its place, `others` are
    outcomes with other random choices or releases, and without `verbose` long parts are cut.
    """
    yield make_paragraph(explanation.dominant.sentence_about(names), "title")
    facts = _cut_list(explanation.dominant.facts, MAX_FACTS, "fact", verbose=verbose)
    yield from (make_paragraph(fact, indent=2) for fact in facts)
    if group_fact := names.group_facts.get(explanation.job):
        yield make_paragraph(group_fact, indent=2)
    yield release_paragraph(explanation.release, addition=others.release_note)
    yield from (make_paragraph(text, "warn", 2) for text in others.warnings)
    if not verbose:
        yield from _short_blocker_blocks(explanation)
    if explanation.doubt:
        yield make_paragraph(f"Caution: this answer can be wrong: {explanation.doubt}", "bad", 2)
    yield from fixes
    if advice and not fixes:
        title = OUTSIDE_TITLE if is_all_outside(explanation) else UNTRIED_TITLE
        # A placed job has further blockers only of pods beyond those that it needs.
        title = OTHER_PODS_TITLE if explanation.scheduled and explanation.contributing else title
        yield from advice_blocks(explanation, title, verbose=verbose)
    if verbose:
        blockers = (f"- {finding.reason} ({finding.cause})" for finding in explanation.contributing)
        yield from titled_blocks("Other blockers", (make_paragraph(text, indent=2) for text in blockers))
    yield from _evidence_blocks(explanation, verbose=verbose)
    if verbose:
        yield from titled_blocks("Scheduling steps", _iter_steps(explanation))


def _evidence_blocks(explanation: Explanation, *, verbose: bool) -> Iterator[Block]:
    """The cause code, the arithmetic behind the first line, and the events that prove it; in short, the event that
    decides, else the arithmetic, in one line.
    """
    lines, title = explanation.dominant.lines, f"Evidence (cause: {explanation.cause_code})"
    rows = [f"event {event.seq}: {event.text}" for event in explanation.dominant.evidence]
    yield make_paragraph("")
    if verbose:
        yield make_paragraph(title, "title")
        yield from (make_paragraph(text, indent=2) for text in (*lines, *rows))
        return
    deciding = rows[::-1] if explanation.cause_code in DECIDED_LAST else rows
    shown = next(iter((*deciding, *lines)), "")
    yield make_paragraph(f"{title}: {shown}" if shown else title, "muted")


def _cut_list(texts: Sequence[str], limit: int, noun: str, *, verbose: bool) -> Sequence[str]:
    """At most `limit` texts and the number of further ones, which is never 1; all texts with `verbose`."""
    surplus = len(texts) - limit
    return texts if verbose or surplus <= 1 else [*texts[:limit], f"… {count_noun(surplus, f'more {noun}')}: --verbose"]


def _iter_steps(explanation: Explanation) -> Iterator[Block]:
    for step in explanation.steps:
        events = f"  event {', '.join(map(str, step.seqs))}" if step.seqs else ""
        text = f"{STEP_MARKS[step.state]} {step.name}{f': {step.text}' if step.text else ''}{events}"
        yield make_paragraph(text, STEP_STYLES[step.state], 2)


def _short_blocker_blocks(explanation: Explanation) -> Iterator[Block]:
    """The first blocker that the lines above do not name already; lack of room last, since most others imply it."""
    others = sorted(explanation.contributing, key=lambda finding: finding.cause == Cause.MIXED)
    # Where an action is missing, the first line says that no node has free room.
    implied = (Cause.MIXED,) if explanation.cause_code == Cause.NOT_CONFIGURED else ()
    told = explanation.dominant.full_text
    implied = (Cause.NOT_ALLOCATABLE,) if QUOTA_USED_UP in told else implied
    further = [finding for finding in others if finding.reason not in told and finding.cause not in implied]
    surplus = len(further) - 1
    more = f"; {count_noun(surplus, 'more blocker')}: --verbose" if surplus > 0 else ""
    for finding in further[:1]:
        yield make_paragraph(f"Also: {finding.reason} ({finding.cause}){more}", indent=2)


UNTRIED_TITLE = "Suggested fixes (not tested on this snapshot)"
OTHER_PODS_TITLE = "Suggested fixes for the pods that are still Pending (not tested on this snapshot)"
OUTSIDE_TITLE = "Suggested fixes (no replay can test them)"


def is_all_outside(explanation: Explanation) -> bool:
    """Whether all advice is about what is outside the scheduler."""
    return bool(explanation.advised) and all(line.cannot_be_replayed for line in explanation.advised)


def advice_blocks(explanation: Explanation, title: str, *, verbose: bool = True) -> Iterator[Block]:
    """Advice, the least harmful first; no blocks where there is none."""
    lines = [f"- {line.text}  [{ADVICE_OWNER[line.harm]}]" for line in explanation.advised]
    listed = _cut_list(lines, MAX_ADVICE_LINES, "fix", verbose=verbose)
    return titled_blocks(title, (make_paragraph(text, indent=2) for text in listed))


# `vcdebug ask`


def answer_question(
    recording: Recording, question: NamedQuestion, subject: str, forecast: Callable[[], QuestionReply] | None = None
) -> QuestionReply:
    """The answer, with reasons for doubt from the snapshot; `forecast`, if given, computes it instead."""
    missing = incomplete(recording.snapshot)
    if missing:
        reply = QuestionReply(f"{question.question_text}? Cannot be answered: {missing}.", data={"incomplete": missing})
    else:
        reply = question.answer(recording, subject) if forecast is None else forecast()
    if doubt := doubt_of_input(recording):
        reply = replace(reply, lines=(f"Caution: this answer can be wrong: {doubt}", *reply.lines))
    return reply


def reply_document(question: str, reply: QuestionReply) -> dict[str, object]:
    """The JSON document of a reply; the keys are a contract."""
    evidence = [{"seq": event.seq, "text": event.text} for event in reply.evidence]
    body = {"question": question, "sentence": reply.sentence, "lines": list(reply.lines)}
    return {**body, "evidence": evidence, **reply.data}


def reply_blocks(question: str, reply: QuestionReply) -> Iterator[Block]:
    """The text report of a reply."""
    yield make_paragraph(reply.sentence, "title")
    yield from (make_paragraph(line, indent=2) for line in reply.lines)
    for sheet in reply.sheets:
        yield from titled_blocks(sheet.title, [make_listing(sheet.titles, sheet.rows, 2)])
    rows = [(str(event.seq), event.text) for event in reply.evidence]
    yield from titled_listing("Evidence", ("event#", "what happened"), rows)


# The whole answer about one job, with tried fixes and the commands that follow it.


def command_line(args: Namespace, command: str, snapshot: str, *words: str) -> str:
    """A `vcdebug` command line about the same snapshot, with the options that read and edited it."""
    return shlex.join(["vcdebug", *command.split(), snapshot, *words, *snapshot_options(args)])


def follow_up_blocks(explanation: Explanation, args: Namespace, *, tested: bool) -> Iterator[Block]:
    """What shows more about a job: options in one line, or all commands with --verbose."""
    can_prove = not (args.prove or (explanation.scheduled and not tested) or is_all_outside(explanation))
    proving = ("more fixes with their edits" if tested else "tested fixes") if can_prove else ""
    if not args.verbose:
        options = [f"--prove for {proving}"] if proving else []
        yield make_paragraph(f"Add {' or '.join([*options, '--verbose for all evidence and steps'])}.", "muted")
    elif args.command == "explain" and not explanation.scheduled:
        yield from titled_blocks("Next", _command_blocks(explanation, args, proving))


def _command_blocks(explanation: Explanation, args: Namespace, proving: str) -> Iterator[Block]:
    snapshot, job = args.snapshot, explanation.job
    commands = {
        proving: command_line(args, "explain", snapshot, args.job, "--prove"),
        "about the cause": f"docs/causes.md, section {explanation.cause_code}",
        "forecast": command_line(args, "ask when", snapshot, job),
        "what holds the resources": command_line(args, "ask holders", snapshot, job),
        "which jobs go first": command_line(args, "ask next", snapshot),
    }
    return (make_paragraph(f"{words}: {command}", "muted", 2) for words, command in commands.items() if words)


def short_fix_blocks_of(recording: Recording, explanation: Explanation) -> Iterator[Block]:
    """The fixes of a plain answer; no blocks where none works or the snapshot is too large to test any."""
    from vcdebug.cli.reports import fixes
    from vcdebug.whatif.fixes.search import search_few_fixes

    search = search_few_fixes(recording, explanation)
    return iter(()) if search is None else fixes.short_fix_blocks(recording, search, explanation)


def write_explanation(
    recording: Recording, explanation: Explanation, args: Namespace, output: Output
) -> dict[str, object]:
    """Write the answer about one job, unless --json, and return its document; --prove adds tried fixes to both."""
    from vcdebug.whatif.other_outcomes import other_outcomes

    tested: tuple[Block, ...] = ()
    others = other_outcomes(recording, explanation.job)
    if not args.json:
        from vcdebug.cli.reports.contents import input_problem_lines  # `ask` and `script` use this module without it

        if not args.prove and explanation.wants_fixes:
            tested = tuple(short_fix_blocks_of(recording, explanation))
        names = recording.job_names
        blocks = explanation_blocks(
            explanation, names, advice=not args.prove, verbose=args.verbose, fixes=tested, others=others
        )
        problems = list(input_problem_lines(recording, explanation))
        write_blocks([*blocks, *([make_paragraph("")] if problems else []), *problems], output)
    answer = explanation_document(explanation) | others.build_document()
    going_on = [] if args.json else list(follow_up_blocks(explanation, args, tested=bool(tested)))
    if not args.prove:
        write_blocks(going_on, output)
        return answer
    if not explanation.wants_fixes:
        return {**answer, "remedies": []}
    from vcdebug.cli.reports import fixes

    search = fixes.search_fixes(recording, explanation, output, seconds=args.budget, workers=args.workers)
    if not args.json:
        write_blocks(fixes.fix_blocks(search, args.snapshot, args.budget), output)
        if any(remedy.is_proven for remedy in search.best_plans):
            for first in (True, False):
                write_blocks(fixes.outside_advice_lines(explanation, first=first), output)
        else:
            write_blocks(advice_blocks(explanation, "Other suggestions (not tested)", verbose=args.verbose), output)
        write_blocks(going_on, output)
    return {**answer, "remedies": fixes.fix_documents(search)}
