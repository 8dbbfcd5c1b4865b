"""The README is correct: its commands run, its numbers match the tables, its snapshots and files exist."""

import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import PACKAGE, ROOT
from tests.capture.fake_server import serving, write_kubeconfig
from tests.capture.small_cluster import small_cluster
from tests.cli.transcripts import call
from tests.tui.driving import opened
from vcdebug.cli.commands import COMMANDS
from vcdebug.cli.main import main
from vcdebug.releases.change import Tag
from vcdebug.releases.release import SUPPORTED_TAGS, VERIFIED_TAGS, release_at_tag
from vcdebug.snapshot.sources import list_bundled

README = (ROOT / "README.md").read_text(encoding="utf-8")
SNAPSHOTS = (ROOT / "docs" / "snapshots.md").read_text(encoding="utf-8")
FIDELITY = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]  # Any: TOML
COMMAND_ROWS = re.findall(r"^\| `vcdebug (\w+)([^`]*)` \|", README, re.MULTILINE)
CONSOLE = re.compile(r"^```console\n((?:(?!```).*\n)+)```$", re.MULTILINE)
INSTALLERS = ("pipx install .", "uv tool install .", "pip install .")
MAX_LINES = 100
"""Limit of lines of text before the README's reference, without pictures: two screens of 50 lines."""


def console_lines(text: str) -> list[str]:
    """The commands of the console blocks, without prompts."""
    lines = [line for block in CONSOLE.findall(text) for line in block.splitlines()]
    assert [] == [line for line in lines if not line.startswith("$ ")]
    return [line.removeprefix("$ ") for line in lines]


def vcdebug_commands(text: str) -> list[list[str]]:
    """The arguments of each vcdebug command, also of those that kubectl starts."""
    words = [shlex.split(line.removeprefix("kubectl ")) for line in console_lines(text)]
    return [line[1:] for line in words if line[0] == "vcdebug"]


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


def test_each_option_in_the_text_is_one_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            main([name, "--help"])
    known = {*re.findall(r"--[a-z-]+", capsys.readouterr().out), "--plugins-dir"}  # the last is the scheduler's
    assert [] == [option for option in re.findall(r"--[a-z][a-z-]+", README) if option not in known]


def test_each_command_line_is_of_a_known_program() -> None:
    targets = [f"make {name}" for name in re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE)]
    known = [*INSTALLERS, *targets]
    assert [] == [line for line in console_lines(README) if "vcdebug" not in line and line not in known]
    assert list(INSTALLERS) == [line for line in console_lines(README) if line in INSTALLERS]


def test_the_scripts_and_extras_of_the_install_section_exist() -> None:
    assert PROJECT["scripts"]["vcdebug"] == PROJECT["scripts"]["kubectl-vcdebug"]
    assert "kubectl_complete-vcdebug" in PROJECT["scripts"]
    assert {"serve", "dask"} == set(re.findall(r"pip install '\.\[(\w+)\]'", README))
    assert {"serve", "dask"} <= set(PROJECT["optional-dependencies"])


async def test_files_that_the_readme_opens_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (capture,) = (words for words in vcdebug_commands(README) if words[0] == "capture")
    snapshots = [words[1] for words in vcdebug_commands(README + SNAPSHOTS) if words[0] == "open"]
    monkeypatch.chdir(tmp_path)
    with serving(small_cluster()) as address:
        monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "config", address)))
        assert 0 == call(capture)[0]
    assert capture[2] in snapshots
    for snapshot in snapshots:
        async with opened(snapshot) as desk:
            assert 0 == desk.seq


def fidelity_cases() -> list[list[str]]:
    """The rows of the table of recorded cases, including its head."""
    section = FIDELITY.partition("\n## Cases\n")[2].partition("\n## ")[0]
    return [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE)]


def recorded_by_release() -> dict[str, int]:
    head, *rows = fidelity_cases()
    return {
        name: sum(int(row[column]) for row in rows if row[column].isdigit())
        for column, name in enumerate(head)
        if column > 1
    }


def compared_by_release() -> dict[str, int]:
    """The number of clusters compared with the binary of each release."""
    section = FIDELITY.partition("\n## Cases\n")[2].partition("\n## ")[0]
    found = {name: int(count) for name, count in re.findall(r"(v\d+\.\d+\.\d+) \((\d+)", section)}
    (total,) = re.findall(r"(\d+) in (?:all|total), in which it bound", section)
    return {**found, "v1.12.4": int(total)}


def test_a_release_is_exact_where_the_page_has_figures_of_it() -> None:
    compared = {name for name in (*recorded_by_release(), *compared_by_release()) if name != "master"}
    assert compared <= set(VERIFIED_TAGS)
    figures = r"(?:\d on|Of) {0}\b|{0} \(\d|\| {0} \|"
    assert [] == [tag for tag in VERIFIED_TAGS if not re.search(figures.format(tag), FIDELITY)]


def compared_alike() -> Counter[str]:
    """The number of clusters of the sets that were compared with several programs, by tag or `head of BRANCH`."""
    section = FIDELITY.partition("\n## The same 400 clusters under several releases\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (master|v[\d.]+)(?: \(([^)]*)\))? \| \w+ \| (\d+) \|", section, re.MULTILINE)
    counts = Counter[str]()
    for tag, head, count in rows:
        counts[head or tag] += int(count)
    return counts


def release_rows() -> list[str]:
    """The table of releases, from the table of changes and from docs/fidelity.md."""
    recorded, alike = recorded_by_release(), compared_alike()
    compared = Counter(compared_by_release()) + alike
    rows = [f"| master of 2026-08-20 | 1.36 | {recorded['master']} | {alike['master']} |"]
    for line in dict.fromkeys(tag.release_line for tag in SUPPORTED_TAGS):
        tags = [str(tag) for tag in reversed(SUPPORTED_TAGS) if tag.release_line == line]
        names = [*tags, f"head of release-{line[0]}.{line[1]}"]
        cells = [
            ", ".join(f"{counts[name]:,} ({name})" for name in names if name in counts) or "-"
            for counts in (recorded, compared)
        ]
        minor = release_at_tag(Tag(*line)).kubernetes_version[1]
        rows.append(f"| {tags[0]} to {tags[-1]} | 1.{minor} | {' | '.join(cells)} |")
    return rows


def test_the_table_of_releases_is_that_of_the_fidelity_page() -> None:
    section = README.partition("\n## Which releases it replays\n")[2].partition("\n## ")[0]
    assert release_rows() == [line for line in section.splitlines() if line.startswith(("| master", "| v"))]


def test_the_numbers_of_the_text_are_those_of_the_tables() -> None:
    text = " ".join(README.split())
    assert f"by the rules of master and of {len(SUPPORTED_TAGS)} releases" in text
    upstream = sum(int(row[2]) for row in fidelity_cases() if row[0] == "upstream's unit tests")
    assert f"Of those of master, {upstream} are upstream's own unit tests" in text
    assert f"Seven of the {compared_by_release()['v1.12.4']} clusters made for v1.12.4" in text
    assert re.search(r"\bseven \w+ the annotations", " ".join(FIDELITY.split()))


def test_the_python_that_the_readme_asks_for_is_that_of_the_package() -> None:
    (version,) = re.findall(r"Python (3\.\d+) or newer", README)
    assert f">={version}" == PROJECT["requires-python"]


def test_the_page_of_snapshots_lists_the_bundled_ones_with_their_sentences() -> None:
    expected = [f"| `{one.name}` | {one.description} |" for one in list_bundled()]
    assert sorted(expected) == sorted(line for line in SNAPSHOTS.splitlines() if line.startswith("| `"))
    named = re.findall(r"`((?:pending|preempt)-[\w-]+)` \|$", SNAPSHOTS, re.MULTILINE)
    assert named
    assert [] == [name for name in named if name not in {one.name for one in list_bundled()}]


def test_the_index_lists_each_page_once() -> None:
    linked = re.findall(r"\]\((\w[\w-]*\.md)\)", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"))
    assert sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md") == sorted(linked)


def test_readme_before_the_reference_fits_two_screens() -> None:
    before, heading, _ = README.partition("\n## Commands\n")
    assert heading
    assert MAX_LINES >= len([line for line in before.splitlines() if line and not line.startswith(("!", "```"))])


def test_each_file_that_a_document_links_exists() -> None:
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
