"""Skips the assembly of frames in tests: a headless terminal throws them away.

Every due line of a widget's content is still requested. What a test reads is drawn completely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.geometry import Region
from textual.strip import Strip

FRAME: Callable[..., Any] = Compositor.render_update
LINES: Callable[..., list[Strip]] = StylesCache.render


class Frames:
    """Replaces Textual's drawing while one application is under test."""

    def __init__(self) -> None:
        self._unseen = False
        self._bare: WeakSet[StylesCache] = WeakSet()
        """Caches that hold only content lines: without frame, padding and filters."""

    def frame(self, compositor: Compositor, *stack: object, **options: object) -> Any:
        """Return a full frame for a screenshot; for the terminal, request the due lines and discard them."""
        if options.get("full") or options.get("simplify"):
            return FRAME(compositor, *stack, **options)
        due = [*compositor._dirty_regions]
        compositor._dirty_regions.clear()
        self._unseen = True
        try:
            for widget, (region, clip) in compositor.visible_widgets.items():
                place = region.intersection(clip)
                parts = [part for each in due if (part := each.intersection(place))]
                if parts:
                    widget.render_lines(Region.from_union(parts).translate(-region.offset))
        finally:
            self._unseen = False
        return None

    def lines(self, cache: StylesCache, *arguments: Any, **options: Any) -> list[Strip]:
        """The lines of a widget; for a discarded frame, only its content is drawn."""
        if self._unseen:
            styles, size, _, _, line, *_ = arguments
            self._bare.add(cache)
            if cache._width != size.width:
                cache.clear()
                cache._width = size.width
            first = styles.gutter.top
            self._draw(cache, line, range(first, first + options["content_size"].height), options["crop"])
            return []
        if cache in self._bare:
            cache.clear()
            self._bare.discard(cache)
        return LINES(cache, *arguments, **options)

    def _draw(self, cache: StylesCache, line: Callable[[int], Strip], inside: range, crop: Region) -> None:
        """Draw the content lines that are due."""
        for y in crop.line_range:
            if cache.is_dirty(y) or y not in cache._cache:
                cache._cache[y] = line(y - inside.start) if y in inside else Strip([])
        cache._dirty_lines.difference_update(crop.line_range)


@contextmanager
def skip_frame_assembly() -> Iterator[None]:
    """Draw widget contents only; assemble a frame only where a test reads it."""
    frames = Frames()

    def frame(compositor: Compositor, *stack: object, **options: object) -> Any:
        return frames.frame(compositor, *stack, **options)

    def lines(cache: StylesCache, *arguments: Any, **options: Any) -> list[Strip]:
        return frames.lines(cache, *arguments, **options)

    with patch.object(Compositor, "render_update", frame), patch.object(StylesCache, "render", lines):
        yield
