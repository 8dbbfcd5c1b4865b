"""Where panels stand, whatever they hold."""

import pytest

from vcdebug.tui.main.layout import MIN_FLOW_WIDTH, ArrangementRequest, arrange_panels


class Endless:
    """A cluster of so many rows that nobody could go through them one by one."""

    def wanted_cells(self, name: str) -> int:
        return len(name) + 60

    def wanted_lines(self, name: str, width: int) -> int:
        return 10**12 + len(name) + width


@pytest.mark.parametrize("focus", ["moment", "flow", "nodes"])
@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 36), (200, 56)])
def test_lists_without_end_share_the_room_at_once(width: int, height: int, focus: str) -> None:
    places = arrange_panels(ArrangementRequest(width, height, "nodes", focus), Endless())
    assert places
    for place in places.values():
        assert place.height >= 1
        assert place.x + place.width <= width
        assert place.y + place.height <= height


class Empty:
    """Panels before there is a recording."""

    def wanted_cells(self, name: str) -> int:
        return 3

    def wanted_lines(self, name: str, width: int) -> int:
        return 1


@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 36), (200, 56)])
def test_the_flow_has_a_place_while_there_is_nothing_in_it_yet(width: int, height: int) -> None:
    assert arrange_panels(ArrangementRequest(width, height), Empty())["flow"].width >= MIN_FLOW_WIDTH


class Wide(Empty):
    """A list that needs more cells than the middle has, and lists of the cluster."""

    def __init__(self, list_cells: int, list_lines: int = 12) -> None:
        self.list_cells = list_cells
        self.list_lines = list_lines

    def wanted_cells(self, name: str) -> int:
        return 70 if name in ("jobs", "queues") else self.list_cells

    def wanted_lines(self, name: str, width: int) -> int:
        return self.list_lines


def test_a_wide_list_stands_below_both_columns_of_a_wide_screen() -> None:
    places = arrange_panels(ArrangementRequest(200, 56, "effects"), Wide(120))
    assert places["effects"].x == places["moment"].x
    assert places["effects"].width == places["moment"].width + places["jobs"].width
    assert places["effects"].y + places["effects"].height == 56
    assert places["effects"].y == places["nodes"].y + places["nodes"].height


def test_a_narrow_list_leaves_the_clusters_column_its_height() -> None:
    places = arrange_panels(ArrangementRequest(200, 56, "effects"), Wide(50))
    assert places["effects"].width == places["moment"].width
    assert places["nodes"].y + places["nodes"].height == 56


def test_a_list_of_the_cluster_that_is_too_wide_for_its_column_goes_below_when_asked_for() -> None:
    places = arrange_panels(ArrangementRequest(200, 56, "nodes", "nodes"), Wide(120, 400))
    assert places["nodes"].width > places["jobs"].width + 40
    assert places["nodes"].height == 60 * 56 // 100
    assert "effects" not in places


class LongEvent(Wide):
    """An event that has much to say, above a list that has more."""

    def wanted_lines(self, name: str, width: int) -> int:
        return {"moment": 24, "effects": 40}.get(name, 5)


def test_a_wide_list_leaves_the_event_above_it_its_lines() -> None:
    places = arrange_panels(ArrangementRequest(200, 56, "effects"), LongEvent(120))
    assert places["moment"].height >= 24
    assert places["effects"].height == 56 - 24 - 5 - 5
