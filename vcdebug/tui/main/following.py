"""What follows the main screen."""

from __future__ import annotations

from typing import NamedTuple


class Next(NamedTuple):
    """What follows the main screen: another snapshot, or the chooser with the reason why this one is closed."""

    snapshot: str = ""
    failure: str = ""
