"""The panic that ends a recording, in words: the function, the release, the objects to blame, what to change."""

from __future__ import annotations

from typing import Final

from vcdebug.framework.record import PanicEvent
from vcdebug.trace.recording import Recording

CALLS_SHOWN: Final = 4
_PLUGINS: Final = "plugins/"


def find_crash(recording: Recording) -> PanicEvent | None:
    """The panic at which the recording ends; None where the process goes on."""
    last = recording.event_at(len(recording)) if len(recording) else None
    return last if isinstance(last, PanicEvent) else None


def crash_lines(recording: Recording, event: PanicEvent) -> tuple[str, ...]:
    """What is known of it beside Go's message, a sentence each."""
    release = recording.snapshot.release
    innermost, *outer = event.calls[:CALLS_SHOWN] or ("a function that the replay does not name",)
    called = f", called by {', '.join(outer)}" if outer else ""
    lines = [f"{innermost} panics{called} (release {release.name})"]
    if event.objects:
        lines.append(f"objects: {', '.join(f'{kind} {name}' for kind, name in event.objects)}")
    return (*lines, f"change: {crash_change(event)}")


def crash_change(event: PanicEvent) -> str:
    """What would keep the process alive: what the replay knows, else without the plugin, else without the objects."""
    if event.change:
        return event.change
    plugin = next((name.removeprefix(_PLUGINS).partition("/")[0] for name in event.calls if _PLUGINS in name), "")
    if plugin:
        return f"take plugin {plugin.partition('.')[0]} out of the configuration"
    return "remove or repair these objects" if event.objects else "remove what makes it panic"
