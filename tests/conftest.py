"""What every test may ask for, and the order of the tests."""

from pathlib import Path

import pytest

from tests.recorded import CASES

CHECKOUT = Path(__file__).resolve().parents[1]
PLACES = {case: place for place, case in enumerate(CASES)}


@pytest.fixture(scope="session")
def fixtures_folder() -> Path:
    """The bundled snapshots."""
    return CHECKOUT / "fixtures"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tools begin; then the tests of one recorded case follow each other: its replay is made once."""
    items.sort(key=place)


def place(item: pytest.Item) -> int:
    """Where the item's case stands among the recorded ones; others keep their order behind them."""
    if item.path.parent.name == "tools":
        return -1
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec is not None else None
    return PLACES.get(case, len(PLACES)) if isinstance(case, Path) else len(PLACES)
