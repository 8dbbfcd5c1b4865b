"""The HTML report in a browser: on the width of a phone and of a desktop, without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import DESK, PHONE
from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.recorded import bundled
from vcdebug.files.report_file import HTML, report_text
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.views.report import ReportSubject

pytestmark = pytest.mark.browser
NAME = "preempt-blocked-by-gang"
MOST_BYTES = 2_000_000
WIDER = """() => [...document.querySelectorAll("body *")].filter(each =>
  !each.closest(".scroll, pre") && each.getBoundingClientRect().right > innerWidth + 1).map(each => each.outerHTML)"""
"""A script that finds elements wider than the page, except in blocks that scroll."""


def large() -> Recording:
    """A report about a thousand nodes and 600 jobs, 267 of them unscheduled."""
    conf = conf_of("priority gang", "predicates proportion nodeorder")
    nodes = (node(f"node-{number:04}", cpu="8", memory="32Gi") for number in range(1000))
    jobs = (
        [pod_group(name, min_member=3), *pods(name, 3, cpu="7", memory="3Gi")]
        for name in (f"job-{number:04}" for number in range(600))
    )
    return replay_cycle(cluster(*nodes, *(each for job in jobs for each in job), conf=conf))


def write_report(recording: Recording, folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(report_text(ReportSubject(recording, "1", (f"vcdebug open {NAME}",)), HTML), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(bundled(NAME), tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(large(), tmp_path_factory.mktemp("big"))


@pytest.fixture(params=[PHONE, DESK], ids=["phone", "desk"])
def page(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    """A page with scripts disabled that may load only the report."""
    context = browser.new_context(viewport=request.param, java_script_enabled=False)
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda each: asked.append(each.url))
    yield opened
    assert 1 == len({url.partition("#")[0] for url in asked})
    context.close()


@pytest.mark.parametrize("which", ["small", "big"])
def test_no_element_exceeds_the_page_width(page: Any, which: str, request: pytest.FixtureRequest) -> None:
    page.goto(request.getfixturevalue(which).as_uri())
    assert [] == page.evaluate(WIDER)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_answer_is_readable_without_scrolling_sideways(page: Any, small: Path) -> None:
    page.goto(small.as_uri())
    for words in ("preempt found room for 1 of the 2 pods", "gang protects every candidate victim", "job in session"):
        box = page.get_by_text(words).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= page.viewport_size["width"]


def test_pictures_are_seen_whole(page: Any, small: Path) -> None:
    page.goto(small.as_uri())
    titles = page.locator("figcaption").all_inner_texts()
    assert ["Time line", "Nodes: used of allocatable", "Queues"] == titles
    for drawing in page.locator("figure svg").all():
        box = drawing.bounding_box()
        assert box["width"] > 250
        assert box["height"] > 10
        assert box["x"] + box["width"] <= page.viewport_size["width"]
    assert "rgb(11, 87, 164)" == page.locator("rect.accent").first.evaluate("each => getComputedStyle(each).fill")


def test_a_table_that_is_wider_than_the_page_scrolls_on_its_own(page: Any, small: Path) -> None:
    page.goto(small.as_uri())
    jobs = page.locator('.scroll[aria-label="Jobs after the cycle"]')
    jobs.focus()
    jobs.evaluate("each => { each.scrollLeft = each.scrollWidth }")
    head = jobs.get_by_role("columnheader", name="reserved").bounding_box()
    assert head["x"] + head["width"] <= page.viewport_size["width"]


def test_each_entry_of_the_contents_leads_to_its_section(page: Any, small: Path) -> None:
    page.goto(small.as_uri())
    links = page.locator("nav a")
    assert 5 < links.count()
    for number in range(links.count()):
        link = links.nth(number)
        link.click()
        section = page.locator(f'[id="{link.get_attribute("href")[1:]}"]')
        box = section.bounding_box()
        assert box["y"] < page.viewport_size["height"]
        assert link.inner_text() == section.locator("h2, h3").first.inner_text()


def test_folded_section_opens_by_a_click(page: Any, small: Path) -> None:
    page.goto(small.as_uri())
    folded = page.locator("details")
    assert not folded.locator("table").first.is_visible()
    folded.locator("summary").click()
    assert folded.locator("table").first.is_visible()


def test_a_large_cluster_makes_a_small_file(big: Path) -> None:
    assert 100_000 < big.stat().st_size < MOST_BYTES
