"""Change: one rule that upstream once had in another form."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Weight = Literal["H", "M", "L", "T"]
"""H: ordinary clusters see it; M: clusters with that feature; L: corners; T: texts only."""

_TAG = re.compile(r"v(\d+)\.(\d+)(?:\.(\d+))?")


class Tag(NamedTuple):
    """A version as upstream tags it."""

    major: int
    minor: int
    patch: int = 0

    @property
    def release_line(self) -> tuple[int, int]:
        """The branch that it is cut from."""
        return self.major, self.minor

    @classmethod
    def from_text(cls, text: str) -> Tag:
        """`v1.14.4`, and `v1.16` for the first one of a branch."""
        match = _TAG.fullmatch(text)
        assert match is not None, text
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


class Change(NamedTuple):
    """The older form of a rule, and the first releases that no longer have it."""

    id: str
    what: str
    """What the older form does, in one sentence."""
    decides: str
    """Which decision it can change."""
    fixed_in: tuple[str, ...]
    """The first tags with the new form, one per branch: a mended rule is carried back to older branches."""
    pull: str
    """Upstream's pull request or commit."""
    weight: Weight
    since: str = ""
    """The first tag with the older form, where still older ones had none of it."""
    replayed: bool = True
    """Whether the replay knows the older form."""
    unshown: str = ""
    """Why no recording shows what the older form does; every change that is not replayed says it."""

    def is_in_force(self, tag: Tag) -> bool:
        """Whether a release has the older form."""
        if self.since and tag < Tag.from_text(self.since):
            return False
        fixes = [Tag.from_text(text) for text in self.fixed_in]
        own = [fix for fix in fixes if fix.release_line == tag.release_line]
        return tag < own[0] if own else tag.release_line < max(fix.release_line for fix in fixes)
