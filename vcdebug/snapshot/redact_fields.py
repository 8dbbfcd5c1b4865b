"""The fields of a manifest in other words: by the schema, so that what it does not name is dropped."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.redact_words import ANNOTATIONS, NPU_ANNOTATION
from vcdebug.snapshot.shapes import Shape
from vcdebug.snapshot.snapshot import Manifest

LABEL_MAPS = ("labels", "matchLabels", "nodeSelector", "selector", "annotations")
"""Fields whose keys are label keys."""
LABEL_KEYS = ("key", "topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys")
DROPPED_FIELDS = frozenset({"targetPortal", "transitionID", "expression"})
"""Texts that nothing decides by, however the schema has them."""
OPAQUE_FIELDS = frozenset({"hostIP", "monitors"})
"""Addresses: equal ones stay equal, and nothing else of them is told."""
ANY_ADDRESS = ("", "0.0.0.0", "::")
NEVER_MATCHES = "^$"

RewriteText = Callable[[str], str]
Objects = Mapping[str, list[Manifest]]


class ManifestRewriter:
    """Sends each text of a snapshot through one function, and notes which there are and what is left out."""

    def __init__(
        self, rewrite: RewriteText, sentence: RewriteText, texts: dict[str, dict[str, str]], dropped: dict[str, int]
    ) -> None:
        self._rewrite = rewrite
        self.sentence = sentence
        self._texts = texts
        self._dropped = dropped
        self._addresses: dict[str, str] = {}
        self._kind = ""
        self._objects: Objects = {}

    def rewrite_manifest(self, kind: str, shape: Shape, manifest: Manifest, objects: Objects) -> Manifest:
        """One object of a kind."""
        self._kind, self._objects = kind, objects
        written: Manifest = shape.rename_texts(manifest, (), self)
        return written

    def rewrite_value(self, text: str) -> str:
        """A text that is no label key and names no object of a kind."""
        return self._note_text("value", text)

    def rename_key(self, text: str, path: tuple[str, ...]) -> str:
        """The key of a mapping."""
        return self._note_text("label" if path and path[-1] in LABEL_MAPS else "value", text)

    def rename_text(self, text: str, path: tuple[str, ...]) -> str | None:
        """The text of a field, or None when it is to be dropped."""
        name = path[-1] if path else ""
        if path in (("kind",), ("apiVersion",)):
            return self._rewrite(text)
        if name in DROPPED_FIELDS:
            return None
        if name == "message":
            return self.sentence(text)
        if name in OPAQUE_FIELDS:
            return self._rewrite_address(text)
        if name == "pattern":
            return self._rewrite_pattern(text)
        if path == ("metadata", "name"):
            return self._note_text(self._kind, text)
        return self._note_text("label" if name in LABEL_KEYS else "value", text)

    def drops_key(self, field: str, path: tuple[str, ...]) -> bool:
        """Whether a key of a mapping is dropped: an annotation that nothing reads."""
        if path != ("metadata", "annotations") or field in ANNOTATIONS or NPU_ANNOTATION.fullmatch(field):
            return False
        self.note_dropped(path, "*")
        return True

    def note_dropped(self, path: tuple[str, ...], field: str) -> None:
        """Take note of something that is left out."""
        name = ".".join((self._kind, *path, field))
        self._dropped[name] = self._dropped.get(name, 0) + 1

    def rewrite_document(self, value: Any) -> Any:
        """A document without a schema: usage, or an extender's answers."""
        if isinstance(value, str):
            return self.rewrite_value(value)
        if isinstance(value, Mapping):
            return {self.rewrite_value(str(key)): self.rewrite_document(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.rewrite_document(item) for item in value]
        return value

    def _note_text(self, part: str, text: str) -> str:
        self._texts.setdefault(part, {})[text] = ""
        return self._rewrite(text)

    def _rewrite_address(self, text: str) -> str:
        if text in ANY_ADDRESS:
            return text
        return self._addresses.setdefault(text, f"address-{len(self._addresses)}")

    def _rewrite_pattern(self, text: str) -> str:
        """A pattern for the same nodes under their new names; one that is no pattern stays none."""
        try:
            matches = compile_pattern(text)
        except PatternError:
            return "("
        named = [name_of(manifest) for kind in ("Node", "HyperNode") for manifest in self._objects.get(kind, ())]
        matching = [self._rewrite(name) for name in named if matches(name)]
        return f"^({'|'.join(re.escape(name) for name in dict.fromkeys(matching))})$" if matching else NEVER_MATCHES
