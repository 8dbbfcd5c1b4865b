"""The -v levels at which the log can be read."""

from typing import Final

LOG_LEVELS: Final = (3, 4, 5)
DEFAULT_LEVEL: Final = 3
