"""A replay of a redacted snapshot beside that of the original, with the names of the original translated."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.golden.compare import Difference, first_difference
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.load import load
from vcdebug.snapshot.pseudonyms import Pseudonyms
from vcdebug.snapshot.redact import redaction
from vcdebug.snapshot.save import archive_bytes
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.codec import write_jsonl
from vcdebug.trace.replay import replay


def divergence(snapshot: Snapshot) -> Difference | None:
    """The first event in which the redacted snapshot decides otherwise."""
    done = redaction(snapshot)
    known = {real: new for texts in done.mapping.values() for real, new in texts.items()}
    expected = (translated(event, partial(_translation, known, done.names)) for event in events(snapshot))
    written = load(io.BytesIO(archive_bytes(done.snapshot)))
    return first_difference(expected, events(written))


def _translation(known: dict[str, str], names: Pseudonyms, text: str) -> str:
    """A name as the mapping has it, the name of a part of a plugin as it is, or a sentence that quotes names."""
    if text not in known and text.partition("/")[0] in PLUGINS:
        return text
    if text in known:
        return known[text]
    parts = text.split('"')
    said = [(known.get(part) if place % 2 else None) or names.sentence(part) for place, part in enumerate(parts)]
    return '"'.join(said)


def events(snapshot: Snapshot) -> Iterator[Any]:
    stream = io.StringIO()
    write_jsonl(replay(snapshot), stream)
    return (json.loads(line) for line in stream.getvalue().splitlines())


def translated(value: Any, sentence: Any) -> Any:
    """An event in the words of the redacted snapshot; keys of records are words of our own."""
    if isinstance(value, str):
        return sentence(value)
    if isinstance(value, dict):
        return {sentence(key): translated(item, sentence) for key, item in value.items()}
    return [translated(item, sentence) for item in value] if isinstance(value, list) else value
