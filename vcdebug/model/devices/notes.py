"""Annotations that a session writes into pods, where upstream changes the pod object that everybody shares.

Upstream: api/devices/nvidia/vgpu/device_info (Allocate, Release).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.pod import Pod


class PodAnnotations:
    """A pod's annotations as the session has left them; the manifest stays as it is."""

    __slots__ = ("_changed",)

    def __init__(self) -> None:
        self._changed: dict[str, Mapping[str, str]] = {}

    def annotations_of(self, pod: Pod) -> Mapping[str, str]:
        """The annotations that the pod has now."""
        return self._changed.get(pod.uid, pod.annotations)

    def write_annotations(self, pod: Pod, notes: Mapping[str, str]) -> None:
        """Add or replace."""
        self._changed[pod.uid] = {**self.annotations_of(pod), **notes}

    def erase_annotations(self, pod: Pod, keys: Iterable[str]) -> None:
        """Take away."""
        gone = dict.fromkeys(keys)
        self._changed[pod.uid] = {key: text for key, text in self.annotations_of(pod).items() if key not in gone}
