"""The -v levels at which the log can be read."""

from typing import Final

LEVELS: Final = (3, 4, 5)
USUAL: Final = 3
