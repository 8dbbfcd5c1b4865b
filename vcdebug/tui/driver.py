"""The verbs of the screen are those of every front end."""

from vcdebug.debugger.driver import Driver, Step

__all__ = ["Driver", "Step"]
