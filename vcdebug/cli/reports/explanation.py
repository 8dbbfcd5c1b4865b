"""The reports of `vcdebug explain JOB` and `ask`: the sentence, its arithmetic, the proof, and what would help."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from vcdebug.cli.arguments import STDIN, snapshot_options
from vcdebug.cli.output import Output
from vcdebug.cli.render import write_blocks
from vcdebug.explain.answer import ADVICE_OWNER, Evidence, Explanation, Finding, QuestionReply
from vcdebug.recording.recording import Recording
from vcdebug.views.document import Block, make_listing, make_paragraph, titled_blocks, titled_listing
from vcdebug.views.pieces import Style

if TYPE_CHECKING:
    from vcdebug.explain.answer import QuestionReply

STEP_MARKS = {"passed": "✓", "failed": "✗", "not reached": "·"}
STEP_STYLES: dict[str, Style] = {"passed": "good", "failed": "bad", "not reached": "muted"}


def explanation_document(explanation: Explanation) -> dict[str, object]:
    """The JSON document of an explanation; the keys are a contract."""
    return {
        "job": explanation.job,
        "pod": explanation.pod,
        "outcome": explanation.outcome,
        **_finding_document(explanation.dominant),
        "contributing": [_finding_document(finding) for finding in explanation.contributing],
        "advice": list(explanation.advice_texts),
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


def explanation_blocks(explanation: Explanation, *, advice: bool = True) -> Iterator[Block]:
    """The text report; `advice` is false where tried fixes follow."""
    yield make_paragraph(explanation.sentence, "title")
    if explanation.doubt:
        yield make_paragraph(f"this answer may be wrong: {explanation.doubt}", "bad")
    yield make_paragraph(
        f"cause: {explanation.cause_code} ({explanation.outcome})", "good" if explanation.scheduled else "bad"
    )
    if explanation.dominant.lines:
        yield make_paragraph("")
        yield from (make_paragraph(line, indent=2) for line in explanation.dominant.lines)
    yield from proof_blocks(explanation.dominant_evidence)
    yield make_paragraph("")
    yield make_paragraph("the way through the cycle", "title")
    for step in explanation.steps:
        where = f"  event {', '.join(map(str, step.seqs))}" if step.seqs else ""
        text = f"{STEP_MARKS[step.state]} {step.name}{f': {step.text}' if step.text else ''}{where}"
        yield make_paragraph(text, STEP_STYLES[step.state], 2)
    others = [f"{finding.cause}: {finding.sentence}" for finding in explanation.contributing]
    yield from titled_blocks("also in the way", (make_paragraph(text, indent=2) for text in others))
    if advice:
        yield from advice_blocks(explanation, "what would help (not tried yet)")


def proof_blocks(evidence: Iterable[Evidence]) -> Iterator[Block]:
    """A table of the events that prove an answer."""
    return titled_listing("proof", ("event#", "what it shows"), [(str(one.seq), one.text) for one in evidence])


def advice_blocks(explanation: Explanation, title: str) -> Iterator[Block]:
    """Advice, the least harmful first; no blocks where there is none."""
    lines = [f"- {line.text}  [{ADVICE_OWNER[line.harm]}]" for line in explanation.advised]
    return titled_blocks(title, (make_paragraph(text, indent=2) for text in lines))


# `vcdebug ask`


def reply_document(question: str, reply: QuestionReply) -> dict[str, object]:
    """The JSON document of a reply; the keys are a contract."""
    evidence = [{"seq": one.seq, "text": one.text} for one in reply.evidence]
    body = {"question": question, "sentence": reply.sentence, "lines": list(reply.lines)}
    return {**body, "evidence": evidence, **reply.data}


def reply_blocks(question: str, reply: QuestionReply) -> Iterator[Block]:
    """The text report of a reply."""
    yield make_paragraph(reply.sentence, "title")
    yield from (make_paragraph(line, indent=2) for line in reply.lines)
    for sheet in reply.sheets:
        yield from titled_blocks(sheet.title, [make_listing(sheet.heads, sheet.rows, 2)])
    yield from proof_blocks(reply.evidence)


# The whole answer about one job, with tried fixes and the commands that follow it.

_FOLLOW_UP_TITLE = (make_paragraph(""), make_paragraph("to go on", "title"))


def command_line(args: Namespace, command: str, snapshot: str, *words: str) -> str:
    """A `vcdebug` command line about the same snapshot, with the options that read and edited it."""
    return shlex.join(["vcdebug", *command.split(), snapshot, *words, *snapshot_options(args)])


def follow_up_blocks(explanation: Explanation, args: Namespace) -> Iterator[Block]:
    """Command lines of further questions about a pending job."""
    where, job = args.snapshot, explanation.job
    yield from _FOLLOW_UP_TITLE
    if not args.prove:
        yield _follow_up_line("what of this works", command_line(args, "explain", where, args.job, "--prove"))
    yield _follow_up_line("when it gets in", command_line(args, "ask when", where, job))
    yield _follow_up_line("who holds what it needs", command_line(args, "ask holders", where, job))
    yield _follow_up_line("who is tried before it", command_line(args, "ask next", where))


def submit_follow_up_blocks(_: Explanation, args: Namespace) -> Iterator[Block]:
    """The command line of --prove for a submitted manifest; one from standard input cannot be read again."""
    if not args.prove and args.manifest != STDIN:
        yield from _FOLLOW_UP_TITLE
        yield _follow_up_line(
            "what of this works", command_line(args, "submit", args.snapshot, args.manifest, "--prove")
        )


def _follow_up_line(words: str, command: str) -> Block:
    return make_paragraph(f"{words}: {command}", "muted", 2)


FollowUpBlocks = Callable[[Explanation, Namespace], Iterable[Block]]
"""Makes the blocks of further commands about a pending job."""


def write_explanation(
    recording: Recording, explanation: Explanation, args: Namespace, output: Output, go_on: FollowUpBlocks
) -> dict[str, object]:
    """Write the answer about one job, unless --json, and return its document; --prove adds tried fixes to both."""
    if not args.json:
        from vcdebug.cli.reports.contents import problem_count  # `ask` and `script` use this module without it

        write_blocks([*explanation_blocks(explanation, advice=not args.prove), *problem_count(recording)], output)
    answer = explanation_document(explanation)
    going_on = [] if args.json or explanation.scheduled else list(go_on(explanation, args))
    if not args.prove:
        write_blocks(going_on, output)
        return answer
    if explanation.scheduled:
        return {**answer, "remedies": []}
    from vcdebug.cli.reports import fixes

    search = fixes.search_fixes(recording, explanation, output, seconds=args.budget, workers=args.workers)
    if not args.json:
        write_blocks(fixes.fix_blocks(search, args.snapshot, args.budget), output)
        if not any(remedy.is_proven for remedy in search.best_plans):
            write_blocks(advice_blocks(explanation, "what would help (not proven)"), output)
        write_blocks(going_on, output)
    return {**answer, "remedies": fixes.fix_documents(search)}
