"""Names in a configuration → classes, imported on first use.

Upstream: framework/plugins (plugin builders), actions/factory.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def resolve(reference: str) -> Any:
    """The object behind `module:Name`."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
