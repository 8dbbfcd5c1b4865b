"""What every test may ask for."""

from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def fixtures_folder() -> Path:
    """The bundled snapshots."""
    return CHECKOUT / "fixtures"
