"""Recording files are rejected if damaged, written by another program, or naming foreign classes."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.recorded import bundled
from vcdebug.recording.file import form
from vcdebug.recording.file.form import (
    DamagedRecordingError,
    ForeignRecordingError,
    UnstorableError,
    object_named,
    square_checksum,
    stored_name,
)
from vcdebug.recording.file.object_tables import store_recording
from vcdebug.recording.file.read import open_stored_recording

START = len(form.FILE_MAGIC) + form.DIGEST_SIZE
Directory = list[Any]


@cache
def data() -> bytes:
    return b"".join(store_recording(bundled(), "this"))


def with_directory(change: Callable[[Directory], object]) -> bytes:
    """The recording file with a changed directory and the matching digest."""
    size = int.from_bytes(data()[START : START + 8], "little")
    directory = json.loads(data()[START + 8 : START + 8 + size])
    change(directory)
    text = json.dumps(directory).encode()
    text += b" " * (-len(text) % 8)
    rest = len(text).to_bytes(8, "little") + text + data()[START + 8 + size :]
    return form.FILE_MAGIC + square_checksum([rest]) + rest


@pytest.mark.parametrize("place", [0, 30, 60, 5000, -1])
def test_a_byte_that_changed_is_found(place: int) -> None:
    damaged = bytearray(data())
    damaged[place] ^= 1

    with pytest.raises(DamagedRecordingError):
        open_stored_recording(bytes(damaged), "this")


@pytest.mark.parametrize("size", [0, 10, 40, 60, 5000])
def test_a_file_that_ends_early_is_found(size: int) -> None:
    with pytest.raises(DamagedRecordingError):
        open_stored_recording(data()[:size], "this")


def test_the_recording_of_another_program_names_it() -> None:
    with pytest.raises(ForeignRecordingError, match="this"):
        open_stored_recording(data(), "that")


def test_the_same_directory_again_is_the_same_recording() -> None:
    assert len(bundled()) == len(open_stored_recording(with_directory(lambda _: None), "this"))


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "builtins:eval",
        "subprocess:Popen",
        "vcdebug.cli.main:main",
        "vcdebug.files.recording_files:save_recording",
        "vcdebug.snapshot.loader:load_snapshot",
        "vcdebug.snapshot.loader:marshal",
        "vcdebug.snapshot.sources:Path",
        "vcdebug.framework.session:re",
        "vcdebug.model.pod:Pod.__init__",
        "vcdebug.model.nothing:Nothing",
        "vcdebug.model.task:TaskStatus:NOTHING",
        "vcdebug",
        "",
    ],
)
def test_a_name_that_is_no_part_of_a_recording_is_refused(name: str) -> None:
    with pytest.raises(DamagedRecordingError):
        object_named(name)


def test_a_class_that_is_no_part_of_a_recording_is_refused_wherever_it_stands() -> None:
    def replace_every_class(directory: Directory) -> None:
        for table in directory[-1]:
            table[1] = table[1] and "subprocess:Popen"

    with pytest.raises(DamagedRecordingError):
        open_stored_recording(with_directory(replace_every_class), "this").event_at(1)


def test_an_attribute_of_pythons_own_is_refused() -> None:
    def rename(directory: Directory) -> None:
        for table in directory[-1]:
            table[4] = ["__class__" if table[0] == form.INSTANCE else name for name in table[4]]

    with pytest.raises(DamagedRecordingError):
        open_stored_recording(with_directory(rename), "this").event_at(1)


@pytest.mark.parametrize("thing", [lambda: 1, print, Directory])
def test_unnamed_objects_are_not_stored(thing: object) -> None:
    with pytest.raises((UnstorableError, AttributeError)):
        stored_name(thing)
