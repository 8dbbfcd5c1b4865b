"""Change: a rule of upstream that older releases have in another form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, get_args

Weight = Literal["H", "M", "L", "T"]
"""Impact of the older form. H: on ordinary clusters; M: on clusters with the feature; L: in rare cases; T: on texts."""
WEIGHTS: Final[Mapping[str, Weight]] = {weight: weight for weight in get_args(Weight)}
_TAG = re.compile(r"v(\d+)\.(\d+)(?:\.(\d+))?")


class Tag(NamedTuple):
    """A version as upstream tags it."""

    major: int
    minor: int
    patch: int = 0

    @property
    def release_line(self) -> tuple[int, int]:
        """(major, minor) of its release branch."""
        return self.major, self.minor

    @classmethod
    def from_text(cls, text: str) -> Tag:
        """Parse a version such as `v1.14.4`; `v1.16` is the first release of its branch."""
        match = _TAG.fullmatch(text)
        assert match is not None, text
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


_LABEL = re.compile(r"\n +(decides|since|not replayed|not shown|id): ")


def read_labelled(text: str) -> tuple[str, str, dict[str, str]]:
    """(first line, the sentence below it, label → words) of a text with labelled lines; indented lines go on."""
    stated, *labelled = _LABEL.split(text)
    first, sentence = stated.split("\n", 1)
    fields = {label: " ".join(words.split()) for label, words in zip(labelled[::2], labelled[1::2], strict=True)}
    return first, " ".join(sentence.split()), fields


class Change(NamedTuple):
    """The older form of a rule, and the first releases without it."""

    behavior: str
    """The behavior of the older form, in one sentence."""
    affected_decisions: str
    """The decisions that it can change."""
    history: str
    """`fixed_in; pull; weight`, e.g. `v1.14.5 v1.15.0; #5067; H`; without `fixed_in` for an open pull request."""
    first_older_tag: str = ""
    """The first tag with the older form; empty if all older releases have it."""
    replayed: bool = True
    """Whether the replay supports the older form."""
    unshown_reason: str = ""
    """Why no recording shows the older form; required for a change that is not replayed."""
    id: str = ""
    """As switches and `diff --release` name it: by default the constant's name, `vgpu-uuid-lists`."""

    @classmethod
    def from_text(cls, text: str) -> Change:
        """The change that a text states: `history`, then `behavior`, then the other fields behind their labels."""
        history, behavior, fields = read_labelled(text)
        return cls(
            behavior,
            fields["decides"],
            history,
            first_older_tag=fields.get("since", ""),
            replayed="not replayed" not in fields,
            unshown_reason=fields.get("not replayed", fields.get("not shown", "")),
            id=fields.get("id", ""),
        )

    @property
    def fixed_in(self) -> tuple[str, ...]:
        """The first tags with the new form, one per branch, because upstream backports fixes; empty for a proposal."""
        return tuple(self.history.split("; ")[0].split())

    @property
    def pull(self) -> str:
        """Upstream's pull request or commit."""
        return self.history.split("; ")[1]

    @property
    def weight(self) -> Weight:
        """The impact of the older form."""
        return WEIGHTS[self.history.split("; ")[2]]

    @property
    def is_proposed(self) -> bool:
        """Whether it is an open pull request: `behavior` is then its behavior, which no release has yet.

        `master,+pr-5884` replays the latest rules with that one merged.
        """
        return not self.fixed_in

    def is_in_force(self, tag: Tag) -> bool:
        """Whether the release with this tag has the older form."""
        if self.first_older_tag and tag < Tag.from_text(self.first_older_tag):
            return False
        fixes = [Tag.from_text(text) for text in self.fixed_in]
        # A fix on the release's own branch decides: v1.14.5 may have a backport that v1.15.0 lacks.
        branch_fixes = [fix for fix in fixes if fix.release_line == tag.release_line]
        return tag < branch_fixes[0] if branch_fixes else any(tag.release_line < fix.release_line for fix in fixes)


def name_changes(module: dict[str, object]) -> tuple[Change, ...]:
    """The changes that are constants of a module, there and here with their ids."""
    changes = ((name, change) for name, change in module.items() if isinstance(change, Change))
    by_name = {name: change._replace(id=change.id or name.lower().replace("_", "-")) for name, change in changes}
    module.update(by_name)
    return tuple(by_name.values())
