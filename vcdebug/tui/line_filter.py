"""The one place that each line of the screen passes on its way to the terminal, whichever widget drew it."""

from __future__ import annotations

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from vcdebug.printable import make_line_printable


class PrintableFilter(LineFilter):
    """Text from outside is drawn in its printable form; a line that gets wider by it loses its end."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments, or those drawn in their place; as many cells as before."""
        if all(segment.text.isascii() and segment.text.isprintable() for segment in segments):
            return segments
        drawn = list(map(_make_segment_printable, segments))
        width, wanted = Segment.get_line_length(drawn), Segment.get_line_length(segments)
        return Segment.adjust_line_length(drawn, wanted) if width > wanted else drawn


PRINTABLE: Final = PrintableFilter()


def _make_segment_printable(segment: Segment) -> Segment:
    text = make_line_printable(segment.text)
    return segment if text == segment.text or segment.control else Segment(text, segment.style)
