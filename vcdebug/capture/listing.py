"""All objects of one kind: pages, continue tokens, and lists that expire between two pages."""

from __future__ import annotations

from vcdebug.capture.options import Progress
from vcdebug.capture.transport import Api, ApiRefusal, object_in
from vcdebug.snapshot.kinds import ResourceKind
from vcdebug.snapshot.snapshot import Manifest

EXPIRED_STATUS = 410
NOT_EXACT_STATUSES = frozenset({400, EXPIRED_STATUS, 422, 504})
"""How a server declines to show an earlier state: it does not know how, has forgotten it, or never had it."""


class Listing:
    """One list being read, where the server allows it as of a state that another list has shown.

    A list that expires between two pages is started anew once, as of the present state, so that all pages are of one
    state. When it expires again, it is continued with the token that the server offers: the later pages are then of a
    later state.
    """

    def __init__(
        self, api: Api, kind: ResourceKind, page_size: int, progress: Progress | None, resource_version: str = ""
    ) -> None:
        self.kind = kind
        self.items: list[Manifest] = []
        self.resource_version = ""
        """The state that the first page shows."""
        self.inconsistent = False
        """Whether later pages show a later state than earlier ones."""
        self._api = api
        self._page_size = page_size
        self._progress = progress
        self._asked = resource_version
        self._restarted = False
        self._used_tokens: dict[str, None] = {}

    def read_all(self) -> list[Manifest]:
        """Every object of the kind, in the server's order."""
        token = self._first_page()
        while token:
            token = self._next_page(token)
        return self.items

    def _first_page(self) -> str:
        """The first page, as of the state that is asked for, or else of the present one."""
        if not self._asked:
            return self._next_page("")
        exact = [("resourceVersion", self._asked), ("resourceVersionMatch", "Exact")]
        try:
            return self._take_page(self._api.get_object(self.kind.api_path, [("limit", str(self._page_size)), *exact]))
        except ApiRefusal as refusal:
            if refusal.status not in NOT_EXACT_STATUSES:
                raise
            return self._next_page("")

    def _next_page(self, token: str) -> str:
        """Read the page at a token; the answer is the token of the page after it."""
        if token in self._used_tokens:
            raise ApiRefusal(200, "the same continue token twice")
        self._used_tokens[token] = None
        query = [("limit", str(self._page_size))] + ([("continue", token)] if token else [])
        try:
            page = self._api.get_object(self.kind.api_path, query)
        except ApiRefusal as refusal:
            if refusal.status != EXPIRED_STATUS or not token:
                raise
            return self._after_expiry(refusal)
        return self._take_page(page)

    def _after_expiry(self, refusal: ApiRefusal) -> str:
        if not self._restarted:
            self._restarted = True
            self.items.clear()
            self.resource_version = ""
            self._used_tokens.clear()
            return self._next_page("")
        if not refusal.continue_token or refusal.continue_token in self._used_tokens:
            raise refusal
        self.inconsistent = True
        return refusal.continue_token

    def _take_page(self, page: Manifest) -> str:
        metadata = object_in(page.get("metadata"))
        self.resource_version = self.resource_version or str(metadata.get("resourceVersion") or "")
        api_version = page.get("apiVersion") or self.kind.api_version
        self.items.extend(complete_object(item, self.kind.name, api_version) for item in items_of(page, self.kind))
        self._report_progress(metadata.get("remainingItemCount"))
        token = metadata.get("continue")
        return token if isinstance(token, str) else ""

    def _report_progress(self, remaining: object) -> None:
        if self._progress is not None:
            total = len(self.items) + (max(0, remaining) if isinstance(remaining, int) else 0)
            self._progress(self.kind.name, len(self.items), total)


def items_of(page: Manifest, kind: ResourceKind) -> list[Manifest]:
    """The objects of one page; an empty Go slice arrives as null."""
    items = page.get("items", ...)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ApiRefusal(200, f"JSON, but no list of {kind.plural}")
    return items


def complete_object(item: Manifest, kind: str, api_version: str) -> Manifest:
    """The object as a manifest of its own: with kind and apiVersion, which list items lack, without managedFields."""
    manifest: Manifest = {"apiVersion": api_version, "kind": kind} | item
    metadata = item.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        manifest["metadata"] = {key: value for key, value in metadata.items() if key != "managedFields"}
    return manifest
