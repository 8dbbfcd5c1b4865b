"""vcdebug: an omniscient debugger for the scheduling cycles of Volcano."""

__version__ = "0.1.0"
