"""Names as short as they can be without being ambiguous to the eye."""

from __future__ import annotations

from collections.abc import Sequence


def bare(name: str) -> str:
    """The name without its namespace."""
    return name.rsplit("/", 1)[-1]


def task_list(keys: Sequence[str]) -> str:
    """`resnet-sweep-worker-{0,1} etl-0`: tasks of one job share their name's beginning."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        stem, dash, tail = bare(key).rpartition("-")
        if dash and tail.isdigit():
            groups.setdefault(stem + "-", []).append(tail)
        else:
            groups.setdefault(bare(key), [])
    return " ".join(_group(stem, tails) for stem, tails in groups.items())


def _group(stem: str, tails: list[str]) -> str:
    if not tails:
        return stem
    return f"{stem}{tails[0]}" if len(tails) == 1 else f"{stem}{{{','.join(tails)}}}"


def list_or(keys: Sequence[str], empty: str) -> str:
    """The tasks, or a word for nobody."""
    return task_list(keys) if keys else empty
