"""What vcdebug says of its own faults: no input may lead to it."""

from typing import Final

from vcdebug.cli.output import REPORT_HINT

OWN_FAULTS: Final = (REPORT_HINT.partition(";")[0], "bug in vcdebug", "Traceback (most")


def own_faults_in(text: str) -> list[str]:
    """The words about faults of vcdebug in an output."""
    return [words for words in OWN_FAULTS if words in text]
