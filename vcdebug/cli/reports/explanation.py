"""The reports of `vcdebug explain JOB` and `ask`: the sentence, its arithmetic, the proof, and what would help."""

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from vcdebug.cli.arguments import snapshot_options
from vcdebug.cli.output import Output
from vcdebug.cli.render import write_blocks
from vcdebug.explain.answer import Explanation, Finding, NamedQuestion, QuestionReply
from vcdebug.explain.pending.doubts import doubt_of_input
from vcdebug.explain.pending.gates.not_in_session import incomplete
from vcdebug.recording.recording import Recording
from vcdebug.views.answer import (
    caution_lines,
    explanation_blocks,
    fix_lines,
    is_all_outside,
    listed_advice,
    listed_fixes,
)
from vcdebug.views.document import Block, Listed, make_listing, make_paragraph, titled_blocks, titled_listing
from vcdebug.views.pieces import make_line


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
    return replace(reply, lines=(*caution_lines(doubt_of_input(recording)), *reply.lines))


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


def short_fixes(recording: Recording, explanation: Explanation) -> Sequence[str]:
    """The fixes of a plain answer; none where none works or the snapshot is too large to test any."""
    from vcdebug.whatif.fixes.search import search_few_fixes, short_plans
    from vcdebug.whatif.other_outcomes import describe_short_plans

    search = search_few_fixes(recording, explanation) if explanation.wants_fixes else None
    return describe_short_plans(recording, explanation, short_plans(search)) if search is not None else ()


def write_explanation(
    recording: Recording, explanation: Explanation, args: Namespace, output: Output
) -> dict[str, object]:
    """Write the answer about one job, unless --json, and return its document; --prove adds tried fixes to both."""
    from vcdebug.whatif.other_outcomes import other_outcomes

    others = other_outcomes(recording, explanation.job)
    tested = [] if args.json or args.prove else short_fixes(recording, explanation)
    if not args.json:
        from vcdebug.cli.reports.contents import input_problem_lines  # `ask` and `script` use this module without it

        listed = () if args.prove else listed_fixes(explanation, tested, verbose=args.verbose)
        blocks = explanation_blocks(explanation, recording.job_names, listed, others, verbose=args.verbose)
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
        if proven := [remedy.plan_words for remedy in search.best_plans if remedy.is_proven]:
            outside = [line for line in fix_lines(explanation, proven) if not line.number]
            write_blocks([Listed(tuple(make_line(line.marked_text) for line in outside))], output)
        else:
            advice = listed_advice(explanation, "Other suggestions (not tested)", verbose=args.verbose)
            write_blocks(advice, output)
        write_blocks(going_on, output)
    return {**answer, "remedies": fixes.fix_documents(search)}
