"""The form of every answer: a short first line that begins with its object, plain words, and at most 25 lines."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded import BUNDLED, bundled, cases, recorded, user_questions
from tests.scenarios.question import Question
from tests.scenarios.questions import QUESTIONS
from vcdebug.cli.output import Output
from vcdebug.cli.render import write_blocks
from vcdebug.cli.reports.explanation import short_fixes
from vcdebug.explain.answer import NO_OTHER_OUTCOMES, Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.recording import Recording
from vcdebug.views.answer import explanation_blocks, listed_fixes
from vcdebug.whatif.other_outcomes import other_outcomes

MAX_FIRST_LINE = 160
MAX_LINES, COLUMNS = 25, 100
PLACEMENT = re.compile(r"(allocate|pipeline) \S+/\S+ on ")
QUOTED = re.compile(r'"[^"]*"')
AVOIDED = re.compile(
    r"\b(nobody|no one|somebody|someone|anybody|anyone|whoever|everybody|everyone|who|whom|whose|"
    r"is not whole|gets in|let in|keeps out|offers|gives up|lets go|spares|outvoted|take up|let go of|turn to|"
    r"put back|taken back|promised|promise|as things stand|can ever|cannot ever|for ever|falsifies|newest rules|"
    r"too few \(|in all|in pieces|at the cost of|as it is|the present one|this very|very cycle|fate|lever|remedy|"
    r"beyond|nought|there is none|look at|stands beside|beside)\b",
    re.IGNORECASE,
)


def answers(recording: Recording) -> Iterator[Explanation]:
    return (explain_by_name(recording, job) for job in recording.session.jobs)


def faults(recording: Recording, *, compared: bool = False) -> list[str]:
    return [
        fault
        for found in answers(recording)
        for text in [plain_text(recording, found, compared=compared)]
        for fault in (*form_faults(found, text), *word_faults(found, text))
    ]


def form_faults(found: Explanation, answer: str) -> Iterator[str]:
    for finding in (found.dominant, *found.contributing):
        if len(finding.sentence) > MAX_FIRST_LINE:
            yield f"{len(finding.sentence)} characters: {finding.sentence}"
        if not finding.sentence.startswith((found.job, found.pod or found.job)):
            yield f"does not begin with its object: {finding.sentence}"
        yield from (f"no sentence: {fact}" for fact in finding.facts if not fact.endswith((".", "?")))
    if "Evidence (cause: " not in answer.splitlines()[-1]:
        yield f"the evidence of {found.job} has more than one line"
    said = found.dominant.full_text.lower()
    repeated = (one.reason for one in found.contributing if one.reason.lower() in said)
    yield from (f"said twice: {reason}" for reason in repeated if f"Also: {reason}" in answer)
    placements = [text for _, text in found.dominant.evidence if PLACEMENT.match(text)]
    yield from (f"two placements of one pod: {one}" for one in placements if placements.count(one) > 1)
    lines = sum(max(1, -(-len(line) // COLUMNS)) for line in answer.splitlines())
    if lines > MAX_LINES:
        yield f"{lines} lines about {found.job}"


def word_faults(found: Explanation, answer: str) -> Iterator[str]:
    texts = [text for finding in (found.dominant, *found.contributing) for text in (finding.sentence, *finding.facts)]
    for text in (*texts, answer, *found.advice_texts, *(f"{step.name}: {step.text}" for step in found.steps)):
        words = AVOIDED.findall(QUOTED.sub("", text))
        if words:
            yield f"{words} in {text}"


def plain_text(recording: Recording, found: Explanation, *, compared: bool) -> str:
    """The answer as it is printed; with what other releases and random choices would give, if `compared`."""
    written = io.StringIO()
    tested = () if found.scheduled else short_fixes(recording, found)
    others = other_outcomes(recording, found.job) if compared else NO_OTHER_OUTCOMES
    fixes = listed_fixes(found, tested, verbose=False)
    blocks = explanation_blocks(found, recording.job_names, fixes, others, verbose=False)
    write_blocks([*blocks], Output(written))
    return written.getvalue()


@pytest.mark.parametrize("name", BUNDLED)
def test_the_answers_of_a_bundled_snapshot_are_short_and_plain(name: str) -> None:
    assert [] == faults(bundled(name))


@pytest.mark.parametrize("case", [*cases("causes"), *cases("crash"), *user_questions()], ids=lambda path: path.name)
def test_the_answers_about_a_recorded_cluster_are_short_and_plain(case: Path) -> None:
    # The questions are what users ask; comparing all other clusters with other releases would take minutes.
    assert [] == faults(recorded(case), compared=case.parent.name == "threads")


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.file.stem)
def test_the_answers_about_a_question_are_short_and_plain(question: Question) -> None:
    assert [] == faults(question.recording())
