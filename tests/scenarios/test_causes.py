"""docs/causes.md has every code that an answer can name, in short sentences, with examples of that cause."""

import re
from pathlib import Path

from tests.pending.situations import situations
from tests.recorded import bundled
from tests.scenarios.questions import QUESTIONS
from vcdebug.explain.answer import Cause
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.snapshot.sources import list_bundled

PAGE = Path(__file__).parents[2] / "docs" / "causes.md"
MAX_SENTENCE = 240


def sections() -> dict[str, str]:
    """Code → its section."""
    parts = re.split(r"^### `([a-z-]+)`$", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_code_of_the_catalogue_is_on_the_page() -> None:
    assert set() == {code for name, code in vars(Cause).items() if name.isupper()} - set(sections())


def test_every_code_of_a_situation_or_a_question_is_on_the_page() -> None:
    named = {case.cause for case in situations()} | {question.cause for question in QUESTIONS}
    assert set() == named - set(sections())


def test_every_code_of_a_bundled_snapshot_is_on_the_page() -> None:
    found = {
        explain_by_name(recording, job).cause_code
        for recording in (bundled(one.name) for one in list_bundled())
        for job in recording.session.jobs
    }
    assert set() == found - set(sections())


def test_each_code_says_what_it_means_how_to_see_it_and_what_helps() -> None:
    for code, text in sections().items():
        meaning = text.strip().splitlines()[0]
        assert meaning, code
        assert all(len(line) <= MAX_SENTENCE for line in text.splitlines() if "Example" not in line), code
        assert "- See it: " in text, code
        assert "- What helps: " in text, code


def test_an_example_is_a_question_that_has_this_cause() -> None:
    causes = {question.file.name: question.cause for question in QUESTIONS}
    for code, text in sections().items():
        for name in re.findall(r"`vcdebug open tests/scenarios/clusters/([^`]+)`", text):
            assert code == causes[name]
