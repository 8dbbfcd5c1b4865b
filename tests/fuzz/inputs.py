"""Builds one input from its seed and number: the files, and the commands that run on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import yaml

from tests.fuzz.damage_bytes import damage_bytes
from tests.fuzz.damage_meaning import damage_configuration, damage_meaning, write_to_terminal
from tests.fuzz.damage_structure import damage_structure
from tests.fuzz.scripts import edit_lines, expect_text, log_lines, script_lines
from tests.fuzz.seeds import Seed, load_seeds
from vcdebug.explain.questions import QUESTIONS

SNAPSHOT: Final = "snapshot"
"""The folder of the snapshot within the folder of an input."""
SCRIPT: Final = "script"
COMMANDS_OF_AN_INPUT: Final = 2
Command = tuple[str, ...]


class FuzzInput(NamedTuple):
    """Files below one folder, and commands whose paths are relative to it."""

    kind: str
    files: dict[str, bytes]
    commands: tuple[Command, ...]


def make_input(seed: int, number: int) -> FuzzInput:
    """The input with this number, the same on every call."""
    lot = Random(f"{seed}/{number}")
    sound = lot.choice(load_seeds())
    made = lot.choices(tuple(_KINDS.values()), _WEIGHTS)[0](sound, lot)
    return made._replace(files={**made.files, SCRIPT: "\n".join(script_lines(sound, lot)).encode()})


def valid_input() -> FuzzInput:
    """The first seed as it is, with every command."""
    lot, sound = Random(0), load_seeds()[0]
    files = _write(sound.objects(), sound.files, lot)
    return FuzzInput("valid", {**files, SCRIPT: b"next\n"}, _snapshot_commands(sound, lot))


def _damaged_bytes(sound: Seed, lot: Random) -> FuzzInput:
    files = _write(sound.objects(), sound.files, lot)
    name = lot.choice(sorted(files)) if lot.random() < 0.4 else next(name for name in files if "cluster" in name)
    files[name] = damage_bytes(files[name], lot)
    return FuzzInput("bytes", files, _some_commands(sound, lot))


def _damaged_structure(sound: Seed, lot: Random) -> FuzzInput:
    objects = sound.objects()
    damage_structure(objects, lot)
    return FuzzInput("structure", _write(objects, sound.files, lot), _some_commands(sound, lot))


def _damaged_meaning(sound: Seed, lot: Random) -> FuzzInput:
    objects, files = sound.objects(), dict(sound.files)
    damage_meaning(objects, files, lot)
    return FuzzInput("meaning", _write(objects, files, lot), _some_commands(sound, lot))


def _terminal_text(sound: Seed, lot: Random) -> FuzzInput:
    objects, files = sound.objects(), dict(sound.files)
    write_to_terminal(objects, files, lot)
    return FuzzInput("terminal", _write(objects, files, lot), _some_commands(sound, lot))


def _damaged_sidecar(sound: Seed, lot: Random) -> FuzzInput:
    words, text = lot.choice(_SIDECARS)(sound, lot)
    data = text.encode("utf-8", "surrogatepass")
    files = {
        **_write(sound.objects(), sound.files, lot),
        "sidecar": damage_bytes(data, lot) if lot.random() < 0.5 else data,
    }
    return FuzzInput("sidecar", files, (tuple(words.split()),))


def _write(objects: list[Any], others: dict[str, bytes], lot: Random) -> dict[str, bytes]:
    """The files of a snapshot, with its objects in one of three file formats."""
    form = lot.choice(("json", "yaml", "ndjson"))
    if form == "yaml":
        dumped = "---\n".join(yaml.dump(each, Dumper=yaml.CSafeDumper, allow_unicode=True) for each in objects)
    elif form == "json":
        dumped = json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}, indent=1)
    else:
        dumped = "\n".join(json.dumps(each) for each in objects)
    files = {f"{SNAPSHOT}/cluster.{form}": dumped.encode("utf-8", "surrogatepass")}
    return files | {f"{SNAPSHOT}/{name}": data for name, data in others.items()}


def _some_commands(sound: Seed, lot: Random) -> tuple[Command, ...]:
    """COMMANDS_OF_AN_INPUT of the commands for a snapshot: more inputs find more than more commands on each."""
    return tuple(lot.sample(_snapshot_commands(sound, lot), COMMANDS_OF_AN_INPUT))


def _snapshot_commands(sound: Seed, lot: Random) -> tuple[Command, ...]:
    """inspect, run, explain, ask and script, each with random options."""
    jobs = [*sound.names_of("PodGroup"), "absent", "a\x1b[31m"]
    pods = [*sound.names_of("Pod"), "absent"]
    runs: tuple[Command, ...] = (
        (),
        (),
        ("--json",),
        ("--cycles", "2"),
        ("--trace", "-"),
        ("--seed", "3"),
        ("--complete",),
    )
    explains: tuple[Command, ...] = ((), (), ("-v",), ("--json",), (lot.choice(jobs),), (lot.choice(pods), "--json"))
    question = lot.choice(QUESTIONS).name
    subject: Command = () if question == "next" else (lot.choice([*pods, lot.choice(jobs)]),)
    return (
        ("inspect", SNAPSHOT, *lot.choice(((), (), ("--json",), ("--complete",)))),
        ("run", SNAPSHOT, *lot.choice(runs)),
        ("explain", SNAPSHOT, *lot.choice(explains)),
        ("ask", question, SNAPSHOT, *subject, *lot.choice(((), ("--json",)))),
        ("script", SNAPSHOT, SCRIPT),
    )


def _scripted(sound: Seed, lot: Random) -> tuple[str, str]:
    return f"script {SNAPSHOT} sidecar", "\n".join(script_lines(sound, lot))


def _configured(sound: Seed, lot: Random) -> tuple[str, str]:
    conf = sound.files.get("scheduler.conf", b"actions: allocate\n")
    return f"diff {SNAPSHOT} --conf sidecar", damage_configuration(conf, lot).decode("utf-8", "replace")


def _edited(sound: Seed, lot: Random) -> tuple[str, str]:
    command = lot.choice((f"run {SNAPSHOT} --set @sidecar", f"explain {SNAPSHOT} --set @sidecar"))
    return command, "\n".join(edit_lines(sound, lot))


def _expected(sound: Seed, lot: Random) -> tuple[str, str]:
    return "expect sidecar", expect_text(sound, lot)


def _logged(sound: Seed, lot: Random) -> tuple[str, str]:
    return f"check sidecar {SNAPSHOT}", "\n".join(log_lines(sound, lot))


_SIDECARS: Final = (_scripted, _scripted, _configured, _edited, _expected, _logged)
_KINDS: Final[dict[str, Callable[[Seed, Random], FuzzInput]]] = {
    "bytes": _damaged_bytes,
    "structure": _damaged_structure,
    "meaning": _damaged_meaning,
    "terminal": _terminal_text,
    "sidecar": _damaged_sidecar,
}
_WEIGHTS: Final = (20, 25, 20, 8, 40)
"""Relative frequency of each kind of damage."""
