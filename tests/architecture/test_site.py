"""The documentation site has every page, its links have targets, and it loads nothing from other hosts."""

import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
import yaml

from deploy.site_hooks import inside_the_site, local_picture, site_text
from tests.architecture.source_tree import ROOT

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//|url\(\"?https?:|@import")


class SettingsLoader(yaml.SafeLoader):
    """A YAML loader that ignores the Python tags of mkdocs.yml."""


def tag_name(loader: SettingsLoader, suffix: str, node: yaml.Node) -> str:
    return suffix


SettingsLoader.add_multi_constructor("tag:yaml.org,2002:python/", tag_name)
SETTINGS: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), SettingsLoader)  # Any: YAML


def pages_of_nav(nav: Any) -> Iterator[str]:  # Any: a tree of lists, mappings and paths
    if isinstance(nav, str):
        yield nav
    else:
        for below in nav.values() if isinstance(nav, dict) else nav:
            yield from pages_of_nav(below)


def anchors(page: str) -> list[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", (DOCS / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def links(page: str) -> list[str]:
    text = CODE.sub("", (DOCS / page).read_text(encoding="utf-8"))
    return re.findall(r"\]\((?!https?:)([^)\s]+)\)", text)


def test_each_page_is_in_the_navigation_once() -> None:
    assert sorted(pages_of_nav(SETTINGS["nav"])) == PAGES


def test_the_navigation_has_the_sections_in_the_order_of_use() -> None:
    sections = [next(iter(entry)) for entry in SETTINGS["nav"]]
    assert ["Overview", "Get started", "How to", "Reference", "Understand", "Causes"] == sections


@pytest.mark.parametrize("page", PAGES)
def test_each_link_of_a_page_leads_to_a_file_and_a_heading(page: str) -> None:
    for link in links(page):
        target, _, anchor = link.partition("#")
        path = (DOCS / page).parent / target if target else DOCS / page
        assert path.exists(), link
        if anchor and path.resolve().is_relative_to(DOCS):
            assert anchor in anchors(str(path.resolve().relative_to(DOCS))), link


def test_a_link_that_leaves_the_site_becomes_its_text() -> None:
    text = "[a](../README.md) [b](live.md) ![c](../screenshots/c.svg) [d](../performance.md)\n```text keys=5\nx\n```\n"
    assert not inside_the_site("x.md", "../README.md")
    assert inside_the_site("decisions/x.md", "../performance.md")
    shown = "a [b](live.md) ![c](screenshots/c.svg) d\n```text\nx\n```\n"
    assert shown == site_text("x.md", text)
    assert "[d](../performance.md)" in site_text("decisions/x.md", text)


def test_a_link_written_as_a_file_shows_the_title_of_its_page() -> None:
    assert "see [Exit codes](exit-codes.md#a)" == site_text("x.md", "see [exit-codes.md](exit-codes.md#a)")
    assert "[Lessons](../lessons.md)" == site_text("decisions/x.md", "[lessons.md](../lessons.md)")
    assert "[codes](exit-codes.md)" == site_text("x.md", "[codes](exit-codes.md)")


def test_the_site_shows_lists_and_bars_as_github_does() -> None:
    assert "Kept:\n\n- a\n- b" == site_text("x.md", "Kept:\n- a\n- b")
    assert "| <code>a &#124; &lt;b&gt;</code> |" == site_text("x.md", "| `a \\| <b>` |")
    fence = "```yaml\njobs:\n- a\n```\n"
    assert fence == site_text("x.md", fence)


def test_a_picture_loses_its_fonts_from_elsewhere() -> None:
    source = 'url("https://host/f.woff2") format("woff2")'
    assert 'src: local("Fira"); fill: url(#clip)' == local_picture(f'src: local("Fira"),\n  {source}; fill: url(#clip)')


def test_the_site_asks_for_no_fonts_and_stops_at_a_warning() -> None:
    assert SETTINGS["theme"]["font"] is False
    assert SETTINGS["strict"] is True


if find_spec("mkdocs") and find_spec("material"):

    def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
        built = run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert 0 == built.returncode, built.stderr
        files = [path for path in tmp_path.rglob("*") if path.suffix in (".css", ".html", ".svg")]
        assert len(PAGES) < len(files)
        assert [] == [str(path) for path in files if REMOTE.search(path.read_text(encoding="utf-8"))]
