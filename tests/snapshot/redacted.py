"""A replay of a redacted snapshot beside that of the original, with the names of the original translated."""

from __future__ import annotations

import io
import json
from functools import cache, partial
from typing import Any

from tests.golden.compare import Difference, first_difference_of_lines
from vcdebug.plugins import PLUGINS
from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.redact_words import Pseudonyms
from vcdebug.snapshot.redaction import make_redaction
from vcdebug.snapshot.saved_files import archive_bytes

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""As traces are spelt, so that what is equal is seen at once."""


def divergence(original: Recording) -> Difference | None:
    """The first event in which the redacted snapshot decides otherwise."""
    done = make_redaction(original.snapshot)
    known = {real: new for texts in done.mapping.values() for real, new in texts.items()}
    sentence = cache(partial(_translation, known, done.names))
    expected = (_ENCODE(translated(json.loads(line), sentence)) for line in lines(original))
    written = load_snapshot(io.BytesIO(archive_bytes(done.snapshot)))
    with disposing(replay_cycle(written)) as again:
        return first_difference_of_lines(expected, lines(again))


def _translation(known: dict[str, str], names: Pseudonyms, text: str) -> str:
    """A moved time, a name as the mapping has it, the name of a part of a plugin as it is, or a sentence with names."""
    if (moved := names.move_time(text)) != text:
        return moved
    if text not in known and text.partition("/")[0] in PLUGINS:
        return text
    if text in known:
        return known[text]
    parts = text.split('"')
    said = [
        (known.get(part) if place % 2 else None) or names.rewrite_sentence(part) for place, part in enumerate(parts)
    ]
    return '"'.join(said)


def lines(recording: Recording) -> list[str]:
    stream = io.StringIO()
    write_jsonl(recording, stream)
    return stream.getvalue().splitlines()


def translated(value: Any, sentence: Any) -> Any:
    """An event in the words of the redacted snapshot; keys of records are words of our own."""
    if isinstance(value, str):
        return sentence(value)
    if isinstance(value, dict):
        return {sentence(key): translated(item, sentence) for key, item in value.items()}
    return [translated(item, sentence) for item in value] if isinstance(value, list) else value
