"""Frames that nobody sees: a terminal without a head throws them away, so nothing is put together for it.

Every line of a widget's content that is due is still asked for. What a test looks at is put together whole.
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
    """How frames are drawn while one application is under test."""

    def __init__(self) -> None:
        self._unseen = False
        self._bare: WeakSet[StylesCache] = WeakSet()
        """They keep lines of the content alone: without frame, padding and filters."""

    def frame(self, compositor: Compositor, *stack: object, **options: object) -> Any:
        """A frame for a picture as it is; for the terminal, its lines are drawn and forgotten."""
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
        """A widget's lines; those that nobody sees are the ones of its content."""
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
        """Draw the lines that are due."""
        for y in crop.line_range:
            if cache.is_dirty(y) or y not in cache._cache:
                cache._cache[y] = line(y - inside.start) if y in inside else Strip([])
        cache._dirty_lines.difference_update(crop.line_range)


@contextmanager
def contents_alone() -> Iterator[None]:
    """No frame is put together but for who looks at it."""
    frames = Frames()

    def frame(compositor: Compositor, *stack: object, **options: object) -> Any:
        return frames.frame(compositor, *stack, **options)

    def lines(cache: StylesCache, *arguments: Any, **options: Any) -> list[Strip]:
        return frames.lines(cache, *arguments, **options)

    with patch.object(Compositor, "render_update", frame), patch.object(StylesCache, "render", lines):
        yield
