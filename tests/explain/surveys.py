"""What is said of every job that is not whole, worked out once for the tests of a recording that follow each other."""

from functools import lru_cache

from vcdebug.explain.survey import Survey
from vcdebug.explain.survey import survey as survey_of
from vcdebug.trace.recording import Recording


@lru_cache(maxsize=2)
def survey(recording: Recording) -> Survey:
    """The survey of a whole recording."""
    return survey_of(recording)
