"""What a real scheduler's log says about a cycle, beside what the replay would have printed.

`narrate` turns a recording into lines, `check_log` aligns a log with them; `messages` is the table of what is covered.
"""

from vcdebug.explain.logs.check import LogCheck, check_log
from vcdebug.explain.logs.narrator import narrate
from vcdebug.explain.logs.story import LogLine

__all__ = ["LogCheck", "LogLine", "check_log", "narrate"]
