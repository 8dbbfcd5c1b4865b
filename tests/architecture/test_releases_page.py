"""docs/releases.md matches the table of changes; the tables of docs/fidelity.md match quirks and cases."""

import pytest

from tests.architecture import fidelity_page, releases_page
from tests.architecture.releases_page import who
from vcdebug.framework import quirks
from vcdebug.framework.quirks import QUIRKS
from vcdebug.releases.change import Change
from vcdebug.releases.release import CHANGES, SUPPORTED_TAGS, Release, release_at_tag


def test_the_page_of_releases_is_the_table() -> None:
    written = releases_page.PAGE.read_text(encoding="utf-8")
    assert releases_page.page() == written, "make docs writes docs/releases.md again"
    assert [] == [name for name in CHANGES if f"| `{name}` |" not in written]


def test_the_tables_of_fidelity_are_current() -> None:
    written = fidelity_page.PAGE.read_text(encoding="utf-8")
    assert fidelity_page.page(written) == written, "make docs writes the tables of docs/fidelity.md again"


@pytest.mark.parametrize(
    ("fixed_in", "since", "words"),
    [
        ("v1.16", "", "v1.15, v1.14, v1.13, v1.12, v1.11, v1.10"),
        ("v1.15.0", "", "v1.14, v1.13, v1.12, v1.11, v1.10"),
        ("v1.15.1", "v1.15.0", "v1.15.0"),
        ("v1.15.1 v1.14.3", "", "v1.15.0, v1.14.0 to v1.14.2, v1.13, v1.12, v1.11, v1.10"),
        ("v1.14.0", "", "v1.13, v1.12, v1.11, v1.10"),
        ("v1.13.0", "", "v1.12, v1.11, v1.10"),
        ("v1.13.0 v1.12.2", "", "v1.12.0 to v1.12.1, v1.11, v1.10"),
        ("v1.12.0", "", "v1.11, v1.10"),
        ("v1.11.0", "", "v1.10"),
        ("v1.10.0", "", "before v1.10"),
    ],
)
def test_page_names_the_releases_with_an_older_form_by_branches_and_tags(fixed_in: str, since: str, words: str) -> None:
    assert words == who(Change("b", "c", f"{fixed_in}; #1; L", since).is_in_force)


def having(code: str) -> list[str]:
    releases = [Release(), *map(release_at_tag, SUPPORTED_TAGS)]
    return [release.name for release in releases if fidelity_page.happens_under(QUIRKS[code], release.has_older_form)]


def test_a_quirk_that_an_older_release_lacks_is_not_ascribed_to_it() -> None:
    assert ["master", "v1.15.1", "v1.15.0"] == having(quirks.VIEW_LOST_POD)
    table = "\n".join(fidelity_page.quirk_rows())
    assert "| `view-lost-pod` |" in table
    assert next(row for row in table.splitlines() if "`view-lost-pod`" in row).endswith("| master, v1.15 |")
    assert next(row for row in table.splitlines() if "`device-stays-charged`" in row).endswith("| all |")
    assert next(row for row in table.splitlines() if "`plugin-twice`" in row).endswith("| all |")
