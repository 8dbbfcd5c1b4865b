"""Which messages of the real scheduler are compared: one row per message, used to recognise it and to write it.

Upstream: the klog calls of cache, framework, actions, plugins and util.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from vcdebug.explain.logs.message import Message
from vcdebug.explain.logs.messages_evicting import EVICTING
from vcdebug.explain.logs.messages_placing import PLACING
from vcdebug.explain.logs.messages_plugins import PLUGINS

_FIELD = re.compile(r"\{\w+\}")

MESSAGES: tuple[Message, ...] = (*PLACING, *EVICTING, *PLUGINS)

BY_KEY: Mapping[str, Message] = {message.key: message for message in MESSAGES}


@cache
def _by_file() -> Mapping[str, tuple[tuple[re.Pattern[str], Message], ...]]:
    found: dict[str, list[tuple[re.Pattern[str], Message]]] = {}
    for message in MESSAGES:
        literal = [re.escape(part) for part in _FIELD.split(message.template)]
        found.setdefault(message.file, []).append((re.compile("(.*)".join(literal), re.DOTALL), message))
    return {file: tuple(rows) for file, rows in found.items()}


def recognise(file: str, text: str) -> Message | None:
    """The message that a line of a log is, by its file and text."""
    for pattern, message in _by_file().get(file, ()):
        if pattern.fullmatch(text):
            return message
    return None
