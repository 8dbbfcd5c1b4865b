"""Where panels stand, whatever they hold."""

import pytest

from vcdebug.tui.main.arrangement import SLIGHT, Asked, arranged


class Endless:
    """A cluster of so many rows that nobody could go through them one by one."""

    def cells(self, name: str) -> int:
        return len(name) + 60

    def lines(self, name: str, width: int) -> int:
        return 10**12 + len(name) + width


@pytest.mark.parametrize("focus", ["moment", "flow", "nodes"])
@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 36), (200, 56)])
def test_lists_without_end_share_the_room_at_once(width: int, height: int, focus: str) -> None:
    places = arranged(Asked(width, height, "nodes", focus), Endless())
    assert places
    for place in places.values():
        assert place.height >= 1
        assert place.x + place.width <= width
        assert place.y + place.height <= height


class Empty:
    """Panels before there is a recording."""

    def cells(self, name: str) -> int:
        return 3

    def lines(self, name: str, width: int) -> int:
        return 1


@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 36), (200, 56)])
def test_the_flow_has_a_place_while_there_is_nothing_in_it_yet(width: int, height: int) -> None:
    assert arranged(Asked(width, height), Empty())["flow"].width >= SLIGHT
