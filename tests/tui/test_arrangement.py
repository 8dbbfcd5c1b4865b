"""The layout of panels depends on the terminal's size alone, not on content or focus."""

from pathlib import Path

import pytest

from tests.tui.driving import Desk, opened, opened_again
from vcdebug.tui.main.layout import (
    CLUSTER_PANELS,
    LARGE,
    MEDIUM,
    SMALL,
    TABS,
    MainLayout,
    PanelPlace,
    ScreenClass,
    arrange_panels,
    screen_class,
)
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import FirstKeys, Status
from vcdebug.views.panels import PANELS

BODIES = [(60, 16), (80, 20), (99, 46), (100, 28), (120, 36), (160, 44), (200, 56), (240, 90)]
"""Sizes of the area for panels, without header, timeline and footer."""


@pytest.mark.parametrize("overview", [False, True])
@pytest.mark.parametrize(("width", "height"), BODIES)
def test_the_places_fill_the_room_and_do_not_overlap(width: int, height: int, overview: bool) -> None:
    places = arrange_panels(width, height, "log", overview=overview)
    cells = [(x, y) for place in places.values() for x in across(place) for y in down(place)]
    assert len(cells) == len(set(cells)) == width * height
    assert min(place.height for place in places.values()) >= 1


def across(place: PanelPlace) -> range:
    return range(place.x, place.x + place.width)


def down(place: PanelPlace) -> range:
    return range(place.y, place.y + place.height)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((80, 20), SMALL), ((200, 27), SMALL), ((120, 36), MEDIUM), ((159, 56), MEDIUM), ((160, 44), LARGE)],
)
def test_three_classes_of_sizes(size: tuple[int, int], expected: ScreenClass) -> None:
    assert screen_class(*size) is expected


def test_the_dock_is_directly_below_its_tabs() -> None:
    for size in BODIES:
        places = arrange_panels(*size, "log")
        assert places["log"].y == places[TABS].y + places[TABS].height
        assert places["log"].x == places[TABS].x


def test_a_large_screen_keeps_the_lists_of_the_cluster_in_their_column() -> None:
    places = arrange_panels(200, 56, "effects")
    assert [places[name].x for name in CLUSTER_PANELS] == [140] * 3
    assert places["moment"].height == 21
    assert places["effects"].height == 19


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_no_panel_moves_when_another_is_shown(size: tuple[int, int]) -> None:
    async with opened_again("preempt-blocked-by-gang", size) as desk:
        await desk.press("n", "n", "1")
        before = regions(desk)
        for panel in PANELS:
            name = panel.command_name
            await desk.press(panel.key)
            after = regions(desk)
            stay = [other for other in before if other not in (name, docked(before)) and other in after]
            assert {other: after[other] for other in stay} == {other: before[other] for other in stay}
            assert after[name] == (before[name] if name in always(desk) else before[docked(before)])


def regions(desk: Desk) -> dict[str, PanelPlace]:
    """The regions of the panels."""
    return {name: PanelPlace(*desk.main.query_one(f"#{name}").region) for name in layout_of(desk).places}


def always(desk: Desk) -> tuple[str, ...]:
    return screen_class(*layout_of(desk).size).fixed_panels


def layout_of(desk: Desk) -> MainLayout:
    return desk.main.query_one(MainLayout)


def docked(places: dict[str, PanelPlace]) -> str:
    """The region of the panel below the tabs."""
    tabs = places[TABS]
    return next(name for name, place in places.items() if (place.x, place.y) == (tabs.x, tabs.y + tabs.height))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 60)], ids=str)
async def test_no_message_hint_or_command_line_moves_anything(size: tuple[int, int], tmp_path: Path) -> None:
    async with opened("preempt-works", size, store=SessionStore(tmp_path)) as desk:
        hint, status = desk.main.query_one(FirstKeys), desk.main.query_one(Status)
        first = places_of_everything(desk)
        assert hint.region.height in (3, 6)
        assert hint.region.bottom == size[1] - 1
        await desk.press("shift")
        assert not hint.display
        assert first == places_of_everything(desk)
        desk.main.show_message("the cause of it " * 30)
        await desk.pause()
        assert first == places_of_everything(desk)
        assert (3, size[1]) == (status.region.height, status.region.bottom)
        assert "the cause of it" in desk.screen().splitlines()[-3]
        await desk.press("escape")
        assert first == places_of_everything(desk)
        assert (1, size[1]) == (status.region.height, status.region.bottom)
        await desk.press("colon", "b", "tab")
        assert first == places_of_everything(desk)
        assert ":b" in desk.screen().splitlines()[-1]
        assert "back" in desk.screen().splitlines()[-2]
        await desk.press("escape")
        assert "help" in desk.screen().splitlines()[-1]


def places_of_everything(desk: Desk) -> dict[str, object]:
    """The region of each part of the main screen, without overlays."""
    parts = [*desk.main.children, *desk.main.query_one(MainLayout).children]
    return {f"{part}": part.region for part in parts if part.display and not isinstance(part, FirstKeys)}
