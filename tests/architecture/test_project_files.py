"""The project files agree with each other: workflow, issue forms, version, changelog, pins."""

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from deploy.release_notes import cut_section, main, read_version
from tests.architecture.source_tree import ROOT
from vcdebug import __version__
from vcdebug.cli.commands import COMMANDS

GITHUB = ROOT / ".github"
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PROSE = [*sorted(GITHUB.rglob("*.yml")), *sorted(GITHUB.rglob("*.md")), ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))  # Any: TOML
KINDS_OF_CHANGE = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def read_yaml(path: Path) -> Any:  # Any: YAML
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def workflow_steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in read_yaml(workflow)["jobs"].values():
        yield from job["steps"]


def test_every_program_that_a_workflow_runs_is_in_the_repository() -> None:
    programs = [step["run"] for workflow in WORKFLOWS for step in workflow_steps(workflow) if "run" in step]
    assert [".ci/run"] == programs
    assert [] == [program for program in programs if not os.access(ROOT / program, os.X_OK)]


def test_the_workflow_runs_every_python_that_the_makefile_looks_for() -> None:
    tested = read_yaml(GITHUB / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert sorted(set(re.findall(r"python(3\.\d+)", MAKEFILE))) == tested
    assert f">={tested[0]}" == PROJECT["project"]["requires-python"]


def test_the_workflow_hands_the_interpreter_to_make() -> None:
    (step,) = (step for step in workflow_steps(GITHUB / "workflows" / "ci.yml") if step.get("run") == ".ci/run")
    assert "${{ steps.setup.outputs.python-path }}" == step["env"]["PYTHON"]
    assert re.search(r"^PYTHON \?=", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_an_issue_form_has_what_the_platform_asks_for(form: Path) -> None:
    read = read_yaml(form)
    assert {"name", "description", "body"} <= set(read)
    fields = [field for field in read["body"] if field["type"] != "markdown"]
    names = [field["id"] for field in fields]
    assert sorted(set(names)) == sorted(names)
    assert [] == [field["id"] for field in fields if not field["attributes"]["label"]]


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_a_command_that_a_form_or_guide_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    commands = re.findall(r"`vcdebug ([a-z-]+)", text)
    targets = re.findall(r"`make ([a-z-]+)", text)
    assert [] == [name for name in commands if name not in COMMANDS and name != "--version"]
    assert [] == [name for name in targets if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)]


def test_the_security_policy_names_no_person_and_no_address() -> None:
    assert [] == re.findall(r"\S+@\S+|https?://\S+", (ROOT / "SECURITY.md").read_text(encoding="utf-8"))


def test_the_version_is_stated_in_one_place() -> None:
    assert __version__ == read_version()
    assert ["version"] == PROJECT["project"]["dynamic"]
    assert "vcdebug/__init__.py" == PROJECT["tool"]["hatch"]["version"]["path"]
    files = [ROOT / "pyproject.toml", ROOT / "README.md", *(ROOT / "deploy").glob("*.*")]
    stated = rf"(?<![\w.=]){re.escape(__version__)}(?![\w.])|v{re.escape(__version__)}"
    naming = [path.name for path in files if re.search(stated, path.read_text(encoding="utf-8"))]
    assert ["release_notes.py"] == naming, "the script's usage shows a version"


def test_the_changelog_has_the_form_of_keep_a_changelog() -> None:
    first, *releases = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert "[Unreleased]" == first
    assert [] == [line for line in releases if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", line)]
    assert [] == [line for line in re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE) if line not in KINDS_OF_CHANGE]


def test_release_notes_are_the_section_of_one_version() -> None:
    text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- b\n\n## [1.0.0] - 2030-01-01\n\n- a\n\n[1.0.0]: link\n"
    assert "### Added\n\n- b" == cut_section(text, "Unreleased")
    assert "- a" == cut_section(text, "1.0.0")
    assert "" == cut_section(text, "1.0")


def test_release_notes_of_an_unknown_version_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert 1 == main(["v99.0.0"])
    assert "CHANGELOG.md has no section [99.0.0]" in capsys.readouterr().err


def test_each_required_package_is_pinned_within_its_range() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = {name.lower(): version for name, _, version in (line.partition("==") for line in lines)}
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    wanted = [Requirement(text) for group in groups for text in group if not text.startswith("vcdebug[")]
    assert [] == [str(one) for one in wanted if not one.specifier.contains(pins.get(one.name.lower(), ""))]


def test_textual_is_required_as_a_range_that_leaves_room_for_other_programs() -> None:
    (textual,) = (text for text in PROJECT["project"]["dependencies"] if text.startswith("textual"))
    assert Requirement("textual>=8.2.8,<9") == Requirement(textual)


def test_the_types_of_every_imported_module_are_checked() -> None:
    """What mypy skips has no types; of that, only tests name Dask's settings and the messages of debugpy."""
    skipped = [one["module"] for one in PROJECT["tool"]["mypy"]["overrides"] if one.get("follow_imports") == "skip"]
    names = [re.escape(name.removesuffix(".*")) for module in skipped for name in module]
    named = re.compile(rf"^ *(?:from|import) ({'|'.join(names)})(?=[ .,]|$)", re.M)
    found = {folder: set[str]() for folder in ("vcdebug", "tests")}
    for folder, modules in found.items():
        for path in (ROOT / folder).rglob("*.py"):
            modules.update(named.findall(path.read_text(encoding="utf-8")))
    assert {"vcdebug": set(), "tests": {"dask", "debugpy"}} == found


DECISIONS = ROOT / "docs" / "decisions"


def test_each_decision_record_has_a_row_with_its_title_and_status() -> None:
    index = re.findall(
        r"^\| \[(.+?)\]\((.+?)\) \| (\w+) \|$", (DECISIONS / "README.md").read_text(encoding="utf-8"), re.M
    )
    records = [path for path in sorted(DECISIONS.glob("*.md")) if path.name != "README.md"]
    heads = {path.name: path.read_text(encoding="utf-8").splitlines()[:3] for path in records}
    found = {name: [f"# {title}", "", f"Status: {status}"] for title, name, status in index}
    assert sorted(found) == sorted(heads)
    assert [] == [name for name in heads if not "\n".join(heads[name]).startswith("\n".join(found[name]))]


def test_a_decision_record_is_short() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in DECISIONS.glob("*.md")}
    assert {} == {name: length for name, length in lengths.items() if not 5 <= length <= 40}
