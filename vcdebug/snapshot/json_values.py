"""What parsed documents are made of: their types are open, since anybody may have written them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any
"""Anything that a document may hold."""
JsonObject = Mapping[str, Any]
"""An object of a document, to be read."""
JsonDict = dict[str, Any]
"""An object of a document, to be written."""
