"""What a real scheduler's log says about a cycle, beside what the replay would have printed.

`log_lines` turns a recording into lines, `check_log` aligns a log with them; `messages` holds what is covered.
"""

from vcdebug.explain.logs.check import LogCheck, check_log
from vcdebug.explain.logs.log_writer import LogLine, log_lines

__all__ = ["LogCheck", "LogLine", "check_log", "log_lines"]
