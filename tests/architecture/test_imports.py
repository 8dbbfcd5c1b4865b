"""The import cost of each part of vcdebug, measured in a fresh interpreter."""

import json
import os
import subprocess
import sys

import pytest

from tests.architecture.source_tree import ROOT, rooms_present
from tests.effort import PATIENCE

HEAVY = ("textual", "rich", "kubernetes")
FIXTURE = "preempt-blocked-by-gang"
JOB = "research/llm-finetune"

IMPORT_ROOMS = """
import importlib, json, numpy, os, pkgutil, sys
for room in sys.argv[1:]:
    if os.fork():
        if os.wait()[1]:
            sys.exit(f"{room} cannot be imported first")
        continue
    package = importlib.import_module(room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    with open(1, "w") as answer:
        answer.write(json.dumps([room, sorted(sys.modules)]) + "\\n")
    os._exit(0)
"""
"""A script that imports each top-level folder in a process that has imported none of the others."""

RUN_COMMAND = """
import contextlib, io, json, sys
from vcdebug.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""


def written_by(script: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout.splitlines()


def modules_after(*arguments: str) -> list[str]:
    names: list[str] = json.loads(written_by(RUN_COMMAND, *arguments)[-1])
    return names


def loaded(names: list[str], packages: tuple[str, ...]) -> list[str]:
    return [package for package in packages if package in names]


def test_each_engine_room_can_be_imported_first_and_loads_no_screen_and_no_client() -> None:
    rooms = [f"vcdebug.{room}" for room in rooms_present()]

    names: dict[str, list[str]] = dict(map(json.loads, written_by(IMPORT_ROOMS, *rooms)))

    assert rooms == [*names]
    assert {} == {room: found for room in rooms if (found := loaded(names[room], HEAVY))}


def test_help_loads_neither_the_screen_nor_the_engine() -> None:
    assert [] == loaded(modules_after("--help"), ("textual", "kubernetes", "numpy"))


@pytest.mark.parametrize(
    "command",
    [
        ["run", FIXTURE],
        ["explain", FIXTURE, JOB],
        ["explain", FIXTURE],
        ["explain", "fixtures", "-j", "1"],
        ["odds", FIXTURE, "-n", "2", "-j", "1"],
        ["inspect", FIXTURE],
    ],
    ids=" ".join,
)
def test_a_headless_command_loads_neither_the_screen_nor_a_client(command: list[str]) -> None:
    assert [] == loaded(modules_after(*command), ("textual", "kubernetes", "distributed", "aiohttp"))


UNASKED = (
    "hashlib",
    "mmap",
    "vcdebug.actions.preempt",
    "vcdebug.cli.reports.cycle",
    "vcdebug.explain.decisions.dry_runs",
    "vcdebug.explain.decisions.equations",
    "vcdebug.explain.pending.constraint_failures",
    "vcdebug.explain.orders",
    "vcdebug.explain.decisions.victim_funnel",
    "vcdebug.model.devices.vgpu",
    "vcdebug.plugins.capacity",
    "vcdebug.plugins.tdm",
    "vcdebug.recording.file.read",
)
"""Modules that an answer about a non-admitted job does not need, although it tests edits of the snapshot."""


def test_an_answer_loads_only_what_it_is_made_of() -> None:
    answer = modules_after("explain", "pending-queue-quota", "vision/image-captioning")
    assert [] == loaded(answer, UNASKED)
