"""What the screen shows is where the debugger stands."""

from vcdebug.debugger.driver import Here as Moment
from vcdebug.debugger.driver import Stand

__all__ = ["Moment", "Stand"]
