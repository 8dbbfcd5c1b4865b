"""The fuzzer finds no fault in its first inputs, and finds faults that are planted."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.fuzz import child, processes
from tests.fuzz.__main__ import SEED
from tests.fuzz.child import Fault, documented_codes, find_harmful
from tests.fuzz.inputs import FuzzInput, make_input
from tests.fuzz.processes import minimise, run_inputs

INPUTS = 120
RUN = FuzzInput("made", {"snapshot": b"kind: Node\n", "other": b"a\nb\nc\n"}, (("run", "snapshot"),))


def faults_of(tmp_path: Path, count: int = 1) -> list[Fault]:
    return [fault for found in run_inputs(1, 0, count, 60, 1, tmp_path) for fault in found.faults]


def replace_command(monkeypatch: pytest.MonkeyPatch, made: FuzzInput, main: object) -> None:
    monkeypatch.setattr(processes, "make_input", lambda *_: made)
    monkeypatch.setattr(child, "main", main)


def test_damaged_inputs_show_no_fault(tmp_path: Path) -> None:
    found = list(run_inputs(SEED, 0, INPUTS, 600, 1, tmp_path))
    assert INPUTS == len(found)
    assert [] == [(one.number, fault[:3]) for one in found for fault in one.faults]


def test_an_input_is_the_same_every_time() -> None:
    assert [make_input(3, number) for number in range(40)] == [make_input(3, number) for number in range(40)]


def test_inputs_are_of_every_kind() -> None:
    kinds = {make_input(3, number).kind for number in range(60)}
    assert {"bytes", "structure", "meaning", "terminal", "sidecar"} == kinds


def _raise(words: object) -> int:
    raise KeyError("a")


def _loop(words: object) -> int:
    while True:
        pass


def _obey(words: object) -> int:
    print("a\x1b[2J")
    return 0


def _take_memory(words: object) -> int:
    return len(bytes(2 * child.BYTES))


def _change_input(words: object) -> int:
    Path("other").write_text("changed")
    return 0


def _give_odd_code(words: object) -> int:
    return 7


def _die(words: object) -> int:
    os._exit(9)


@pytest.mark.parametrize(
    ("main", "kind"),
    [
        (_raise, "traceback"),
        (_loop, "time"),
        (_obey, "control character"),
        (_take_memory, "traceback"),
        (_change_input, "input changed"),
        (_give_odd_code, "exit code"),
        (_die, "killed"),
    ],
)
def test_each_kind_of_fault_is_found(main: object, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "SECONDS", 1)
    replace_command(monkeypatch, RUN, main)
    assert [kind] == [fault.kind for fault in faults_of(tmp_path)]


def test_an_input_that_no_limit_of_a_command_stops_is_a_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def go_on(words: object) -> int:
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        return _loop(words)

    monkeypatch.setattr(processes, "SECONDS", 1)
    replace_command(monkeypatch, RUN, go_on)
    assert [("hang", "processor time")] == [fault[:2] for fault in faults_of(tmp_path)]


def test_a_process_that_waits_long_and_works_little_is_no_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_long(words: object) -> int:
        time.sleep(3)
        return 0

    monkeypatch.setattr(processes, "SECONDS", 2)
    replace_command(monkeypatch, RUN, wait_long)
    assert [] == faults_of(tmp_path)


def test_after_a_process_that_dies_the_next_input_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_command(monkeypatch, RUN, _die)
    assert ["killed"] * 3 == [fault.kind for fault in faults_of(tmp_path, count=3)]


def test_an_input_is_made_smaller_as_long_as_it_shows_its_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_at_b(words: object) -> int:
        if b"b" in Path("other").read_bytes():
            raise KeyError("b")
        return 0

    replace_command(monkeypatch, RUN, fail_at_b)
    (fault,) = faults_of(tmp_path)
    assert {"other": b"b\n"} == minimise(RUN, fault, 30, tmp_path).files


def test_codes_are_read_from_the_help() -> None:
    assert {0, 1, 2} == documented_codes("ask")
    assert {0, 1} == documented_codes("run")


@pytest.mark.parametrize("text", ["\x1b", "\x9b", "\u202e", "\u2028", "\x7f", "\r", "\u200b"])
def test_terminal_control_characters_are_harmful(text: str) -> None:
    assert text == find_harmful(f"a\n\t{text}ü")


def test_letters_and_layout_are_harmless() -> None:
    assert "" == find_harmful("a\tb\nü 🚀 e\u0301")
