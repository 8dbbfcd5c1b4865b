"""Files that outlive a session: the session of each snapshot, recent snapshots and typed lines."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from msgspec import Struct, field

from vcdebug.files.recording_files import iter_files
from vcdebug.snapshot.manifest import JsonDict, JsonObject
from vcdebug.snapshot.sources import find_bundled

STATE_VERSION: Final = 1
MAX_RECENT: Final = 30
"""Recent snapshots at most."""
MAX_DIGEST_BYTES: Final = 1 << 30
"""Number of bytes that are hashed; of further files, only name and size count."""
MAX_DIGEST_FILES: Final = 5_000
_EVENT_KEYS: Final = ("event", "bookmarks")
"""Parts of a session that are dropped if the snapshot's content changes, because they name events."""


class SnapshotIdentity(Struct, frozen=True):
    """A snapshot's path and the digest of its content."""

    path: str
    content: str

    def file_name(self) -> str:
        """The name of the session's file, unique by path and content."""
        return f"{self.file_stem()}{self.content[:12]}.json"

    def file_stem(self) -> str:
        """The prefix of the names of all session files for this path."""
        # The digest of the path keeps snapshots of equal names in different folders apart.
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", Path(self.path).name)[:40].strip("-") or "snapshot"
        return f"{readable}-{hashlib.sha256(self.path.encode()).hexdigest()[:8]}-"


class RecentSnapshot(NamedTuple):
    """A snapshot that was opened before."""

    path: str
    opened: str
    """Date and time, to the minute."""
    size_text: str
    """The size of its cluster in words."""


class SavedSession(Struct):
    """The session of one snapshot: read once, written after each change."""

    store: SessionStore
    file: Path | None
    data: JsonDict = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    """Messages about the file, the most important first."""
    writable: bool = True

    def save_data(self, data: JsonObject) -> str:
        """Write the session; returns a line if that fails, else an empty text."""
        if self.file is None or not self.writable or data == self.data:
            return ""
        self.data = dict(data)
        return self.store.write_json(self.file, {"version": STATE_VERSION, **data})


class SessionStore:
    """A folder of small JSON files; without a folder nothing is read or written."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder

    def open_session(self, identity: SnapshotIdentity | None, *, fresh: bool = False) -> SavedSession:
        """The last session of a snapshot, else that of an earlier content at the same path."""
        if self.folder is None or identity is None:
            return SavedSession(self, None)
        session = SavedSession(self, self.folder / "snapshots" / identity.file_name())
        assert session.file is not None
        if fresh:
            return session
        if session.file.exists():
            session.data = self._read_session(session, session.file)
        else:
            self._take_over_earlier(session, identity)
        return session

    def _take_over_earlier(self, session: SavedSession, identity: SnapshotIdentity) -> None:
        """Copy the parts without event numbers from the session of an earlier content at this path."""
        assert self.folder is not None
        earlier_files = sorted(
            (self.folder / "snapshots").glob(f"{identity.file_stem()}*.json"), key=_modified_time, reverse=True
        )
        if earlier_files:
            data = self._read_session(session, earlier_files[0])
            session.writable = True
            session.data = {key: value for key, value in data.items() if key not in _EVENT_KEYS}
            notebook = session.data.get("notebook")
            if isinstance(notebook, dict):
                session.data["notebook"] = {k: v for k, v in notebook.items() if k not in _EVENT_KEYS}
            session.lines.append("the snapshot has changed: breakpoints and watches are as before, bookmarks are not")

    def _read_session(self, session: SavedSession, path: Path) -> JsonDict:
        """The data of a session's file; a damaged one is renamed, one of a newer version is not touched."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError):
            data = None
        if not isinstance(data, dict) or not isinstance(data.get("version"), int):
            renamed = path.with_suffix(".damaged")
            with suppress(OSError):
                path.replace(renamed)
            session.lines.append(f"{home_relative(path)}: damaged; kept as {renamed.name}, the session starts over")
            return {}
        # Rewriting the file would lose what the newer version keeps in it.
        if data["version"] > STATE_VERSION:
            session.writable = False
            session.lines.append(
                f"{home_relative(path)}: written by a newer vcdebug; left unchanged, this session is not saved"
            )
            return {}
        return {key: value for key, value in data.items() if key != "version"}

    def recent_snapshots(self) -> list[RecentSnapshot]:
        """Recent snapshots that still exist, the last one first."""
        content = self._load_json("recent.json")
        entries = content if isinstance(content, list) else []
        recent = [RecentSnapshot(*map(str, entry)) for entry in entries if isinstance(entry, list) and len(entry) == 3]
        return [snapshot for snapshot in recent if Path(snapshot.path).exists() or find_bundled(snapshot.path)]

    def add_recent(self, path: str, size_text: str, now: datetime) -> None:
        entry = RecentSnapshot(path, now.strftime("%Y-%m-%d %H:%M"), size_text)
        self._save_json(
            "recent.json", [entry, *(old for old in self.recent_snapshots() if old.path != path)][:MAX_RECENT]
        )

    def typed_lines(self) -> dict[str, list[str]]:
        """The typed lines of earlier sessions, by mode."""
        content = self._load_json("history.json")
        lines = content if isinstance(content, dict) else {}
        return {str(mode): [str(line) for line in typed] for mode, typed in lines.items() if isinstance(typed, list)}

    def save_history(self, history: Mapping[str, list[str]]) -> None:
        self._save_json("history.json", dict(history))

    def answered_steps(self) -> dict[str, int]:
        """The number of answered steps, by the lesson's name."""
        content = self._load_json("lessons.json")
        steps = content if isinstance(content, dict) else {}
        return {str(name): count for name, count in steps.items() if isinstance(count, int) and count > 0}

    def save_answered(self, lesson: str, count: int) -> None:
        """Save that the first `count` steps of a lesson are answered."""
        self._save_json("lessons.json", {**self.answered_steps(), lesson: count})

    def remembered_theme(self, usual: str) -> str:
        """The theme that was chosen last; `usual` if the settings have changed since then."""
        content = self._load_json("theme.json")
        chosen = content.get("theme") if isinstance(content, dict) and content.get("instead of") == usual else None
        return str(chosen or usual)

    def save_theme(self, name: str, settings_theme: str) -> None:
        """Save the chosen theme, and the theme of the settings that it replaces."""
        self._save_json("theme.json", {"theme": name, "instead of": settings_theme})

    def claim_first_time(self) -> bool:
        """Whether this is the first start, which shows a hint; records it, so that the answer is true once."""
        if self.folder is None or (self.folder / "told").exists():
            return False
        self._save_json("told", True)
        return True

    def _load_json(self, name: str) -> object:
        if self.folder is None:
            return None
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError):
            return None

    def _save_json(self, name: str, content: object) -> None:
        if self.folder is not None:
            self.write_json(self.folder / name, content)

    def write_json(self, path: Path, content: object) -> str:
        """Replace a file atomically; returns a line if that fails, else an empty text."""
        new_path = path.with_suffix(".new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new_path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
            new_path.replace(path)  # atomic: two debuggers may write the same file
        except OSError as error:
            return f"{home_relative(path)}: {error.strerror}; this session is not kept"
        return ""


def identify_snapshot(source: str | BinaryIO) -> SnapshotIdentity | None:
    """The identity of a snapshot; None where it cannot be read, which loading reports."""
    if not isinstance(source, str):
        content = source.getvalue() if isinstance(source, BytesIO) else b""
        return SnapshotIdentity("standard input", hashlib.sha256(content).hexdigest())
    path = Path(source).absolute()
    digest = hashlib.sha256()
    remaining_bytes = MAX_DIGEST_BYTES
    try:
        for file in sorted(islice(iter_files(path), MAX_DIGEST_FILES)):
            size = file.stat().st_size
            digest.update(f"{file.relative_to(path)} {size}\n".encode())
            # A volume of gigabytes must not delay the start; its name and size still count.
            remaining_bytes -= size
            if remaining_bytes >= 0:
                with file.open("rb") as stream:
                    hashlib.file_digest(stream, lambda: digest)
    except OSError:
        return None
    return SnapshotIdentity(str(path), digest.hexdigest())


def _modified_time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


# The user's folders, by XDG.

FOLDER_NAME = "vcdebug"


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/vcdebug/config.yaml`, or the same below `~/.config`."""
    return _xdg_folder("XDG_CONFIG_HOME", ".config") / "config.yaml"


def state_folder() -> Path:
    """`$XDG_STATE_HOME/vcdebug`, or the same below `~/.local/state`."""
    return _xdg_folder("XDG_STATE_HOME", ".local/state")


def home_relative(path: Path) -> str:
    """The path with ~ for the home folder."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def _xdg_folder(variable: str, default_folder: str) -> Path:
    folder = os.environ.get(variable, "")
    base = Path(folder) if folder.startswith("/") else Path.home() / default_folder
    return base / FOLDER_NAME
