"""The README is true."""

import re

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT
from vcdebug.cli.commands import COMMANDS
from vcdebug.cli.main import main
from vcdebug.snapshot.bundled import list_bundled

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_ROWS = re.findall(r"^\| `vcdebug (\w+)([^`]*)` \|", README, re.MULTILINE)
EXAMPLES = re.findall(r"^\$ vcdebug (explain .*)$", README, re.MULTILINE)


def test_the_readme_lists_the_commands_that_there_are() -> None:
    assert sorted(COMMANDS) == sorted(name for name, _ in COMMAND_ROWS)


@pytest.mark.parametrize(("name", "usage"), COMMAND_ROWS)
def test_a_command_takes_the_options_that_the_readme_names(
    name: str, usage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([name, "--help"])
    known = capsys.readouterr().out
    assert [] == [option for option in re.findall(r"--?[a-z]+", usage) if option not in known]


def test_the_readme_lists_the_bundled_snapshots_with_their_sentences() -> None:
    expected = [f"| `{one.name}` | {one.description} |" for one in list_bundled()]
    assert expected == [line for line in README.splitlines() if line in expected]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_the_readme_answers(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(example.split())
    assert "gang" in capsys.readouterr().out


def test_each_file_that_a_document_points_to_is_there() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    missing = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in documents
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8"))
        if not (document.parent / target).exists()
    ]
    assert [] == missing


def test_each_room_of_the_package_is_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert [] == [room for room in rooms if f"`{room}/`" not in text]
