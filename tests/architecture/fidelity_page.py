"""The tables of docs/fidelity.md: quirks and recorded cases by release; run as a module, it writes them anew.

Cases of upstream's unit tests are counted only where they lie beside the checkout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from tests.architecture.releases_page import who
from tests.architecture.source_tree import ROOT
from tests.recorded import BESIDE, cases, find_recorded
from vcdebug.framework.quirks import QUIRKS, Quirk
from vcdebug.releases.change import Change
from vcdebug.releases.release import SUPPORTED_TAGS

PAGE = ROOT / "docs" / "fidelity.md"
TITLES = {
    "random": "random clusters",
    "upstream": "upstream's unit tests",
    "causes": "causes",
    "crash": "crashes",
}
WHOLE = {"causes": "one cause each", "crash": "the scheduler panics"}
"""Parts of the corpus that are not divided into families."""
NONE = "-"


def quirk_rows() -> Iterator[str]:
    """The table rows of quirks, each with the releases that have it."""
    yield "| code | what happens | what it can change | releases |"
    yield "|---|---|---|---|"
    for quirk in QUIRKS.values():
        yield f"| `{quirk.code}` | {quirk.description} | {quirk.affected_decision} | {releases_of(quirk)} |"


def happens_under(quirk: Quirk, older: Callable[[Change], bool]) -> bool:
    """Whether a release with these older forms has the quirk."""
    return quirk.absent_with is None or not older(quirk.absent_with)


def releases_of(quirk: Quirk) -> str:
    """`all`, or the names of the releases besides the latest rules that have the quirk."""
    if all(happens_under(quirk, lambda change, tag=tag: change.is_in_force(tag)) for tag in SUPPORTED_TAGS):  # type: ignore[misc]
        return "all"
    found = who(lambda tag: happens_under(quirk, lambda change: change.is_in_force(tag)))
    return f"master, {found}" if not found.startswith("before") else "master"


def case_rows() -> Iterator[str]:
    """The table rows of case families, each with the number of cases per release."""
    releases = recorded_releases()
    yield f"| corpus | family | master | {' | '.join(releases)} |"
    yield "|---|---|---|" + "---|" * len(releases)
    for part, title in TITLES.items():
        counts = [families(part, ""), *(families(part, release) for release in releases)]
        for family in counts[0]:
            numbers = " | ".join(str(count.get(family, NONE)) for count in counts)
            yield f"| {title} | {family} | {numbers} |"


def recorded_releases() -> list[str]:
    """The releases with recordings, newest first."""
    return sorted((path.name for path in find_recorded("releases/v*")), reverse=True)


def families(part: str, release: str) -> dict[str, int]:
    """The number of recorded cases per family."""
    found: dict[str, int] = {}
    for case in cases(f"releases/{release}/{part}" if release else part):
        family = WHOLE.get(part) or re.split(r"-\d", case.name)[0]
        found[family] = found.get(family, 0) + 1
    return found


def with_table(text: str, title: str, rows: Sequence[str]) -> str:
    """Replace the table of a section."""
    before, heading, rest = text.partition(f"\n## {title}\n")
    assert heading, title
    section, following, after = rest.partition("\n## ")
    section = re.sub(r"(^\|.*\n)+", lambda _: "\n".join(rows) + "\n", section + "\n", count=1, flags=re.MULTILINE)
    return before + heading + section[:-1] + following + after


def page(text: str) -> str:
    """The page with its tables as they should be; without the cases of upstream, the counts stay."""
    text = with_table(text, "Quirks", list(quirk_rows()))
    return with_table(text, "Cases", list(case_rows())) if BESIDE.is_dir() else text


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
