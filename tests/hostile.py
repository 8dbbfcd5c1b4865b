"""A snapshot with terminal control sequences in every free-text field, and a check that output contains none."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.sources import find_bundled

TITLE, COLOUR, CLIPBOARD = "\x1b]0;PWNED\x07", "\x9b31m", "\x1b]52;c;cm0gLXJm\x07"
REORDERED, UNSEEN = "\u202e\u2066", "\u200b\u2060\ufeff\u00ad\u2028\u2029\x7f\x85"
HOSTILE: Final = f"x{TITLE}{COLOUR}{CLIPBOARD}{REORDERED}{UNSEEN}\b\r\v\fy"
JOB: Final = "research/llm-finetune"
_OBEYED: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: controls, formats, surrogates, line separators and paragraph separators."""


def obeyed(text: str) -> set[str]:
    """The characters that a terminal would obey or hide, except newline and tab, which our own layout writes."""
    return {character for character in text if unicodedata.category(character) in _OBEYED} - {"\n", "\t"}


def write_hostile(folder: Path) -> Path:
    """Write a bundled snapshot with hostile text in every field that the API server does not validate."""
    source = find_bundled("preempt-blocked-by-gang")
    assert source is not None
    snapshot = load_snapshot(source)
    objects = [_spoiled(manifest) for manifests in snapshot.objects.values() for manifest in manifests]
    folder.mkdir()
    more = [{"apiVersion": "v1", "kind": HOSTILE, "metadata": {"name": "a"}}, *_hanging()]
    (folder / "all.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [*objects, *more]}))
    (folder / "b\x1b]0;P\x07\u202e.yaml").write_text(f"a: [{{ {HOSTILE!r}")
    about = json.loads((source / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**about, "name": HOSTILE, "description": HOSTILE, HOSTILE: HOSTILE}))
    (folder / "scheduler.conf").write_text((source / "scheduler.conf").read_text())
    return folder


def _spoiled(manifest: Any) -> Any:
    spoiled = json.loads(json.dumps(manifest))
    about = spoiled["metadata"]
    for name in ("labels", "annotations"):
        about[name] = {**(about.get(name) or {}), "hostile": HOSTILE, HOSTILE: HOSTILE}
    if spoiled.get("kind") == "Node":
        taint = {"key": HOSTILE, "value": HOSTILE, "effect": "NoSchedule" if about["name"][-1] in "1357" else "Odd"}
        spoiled.setdefault("spec", {}).setdefault("taints", []).append(taint)
    if spoiled.get("kind") in ("Node", "Pod", "PodGroup"):
        condition = {"type": HOSTILE, "status": "True", "reason": HOSTILE, "message": HOSTILE}
        spoiled.setdefault("status", {}).setdefault("conditions", []).append(condition)
    return spoiled


def _hanging() -> Iterator[Any]:
    """Pending jobs that refer to missing objects by the hostile text: node labels, a claim, a queue, a gate, a node."""
    specs: tuple[dict[str, Any], ...] = (
        {"nodeSelector": {HOSTILE: HOSTILE}},
        {"volumes": [{"name": HOSTILE, "persistentVolumeClaim": {"claimName": HOSTILE}}]},
        {"priorityClassName": HOSTILE, "serviceAccountName": HOSTILE},
        {"schedulingGates": [{"name": HOSTILE}]},
        {"nodeName": HOSTILE},
    )
    for number, spec in enumerate(specs):
        name = f"odd-{number}"
        annotations = {"scheduling.k8s.io/group-name": name}
        amount = HOSTILE if number == 0 else "1"
        container = {"name": HOSTILE, "image": HOSTILE, "resources": {"requests": {"cpu": amount, HOSTILE: "1"}}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-0", "namespace": "research", "uid": name, "annotations": annotations},
            "spec": {"schedulerName": "volcano", "containers": [container], **spec},
            "status": {"phase": "Pending"},
        }
        yield {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "research"},
            "spec": {"minMember": 1, "queue": HOSTILE if number == 2 else "research", "priorityClassName": HOSTILE},
            "status": {"phase": "Inqueue"},
        }
