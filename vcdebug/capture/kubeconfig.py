"""Which context, user and impersonation a kubeconfig means, by kubectl's rules: the first file to say it counts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vcdebug.capture.options import CaptureOptions
from vcdebug.errors import CaptureError
from vcdebug.snapshot.manifest import JsonObject

KubeconfigEntry = JsonObject


@dataclass(frozen=True, slots=True)
class Impersonation:
    """As whom requests are made, where that is not who logs in."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def iter_header_pairs(self) -> Iterator[tuple[str, str]]:
        """What the server reads it from."""
        if self.user:
            yield "Impersonate-User", self.user
        if self.uid:
            yield "Impersonate-Uid", self.uid
        yield from (("Impersonate-Group", group) for group in self.groups)
        yield from ((f"Impersonate-Extra-{key}", text) for key, texts in self.extra.items() for text in texts)


@dataclass(frozen=True, slots=True)
class ContextChoice:
    """One context of a kubeconfig."""

    files: str
    """The files that exist, as KUBECONFIG lists them."""
    context: str
    user: str
    impersonation: Impersonation

    @property
    def user_words(self) -> str:
        """The user in words."""
        if not self.impersonation.user:
            return self.user
        groups = f" in {', '.join(self.impersonation.groups)}" if self.impersonation.groups else ""
        return f"{self.impersonation.user}{groups}, impersonated by {self.user}"


def choose_context(options: CaptureOptions) -> ContextChoice:
    """The context that the options name, or the current one of the first file that has one."""
    files = _kubeconfig_files(options)
    documents = [_read_document(file) for file in files]
    contexts = _by_name(documents, "contexts")
    current = [str(document["current-context"]) for document in documents if document.get("current-context")]
    chosen = options.context or next(iter(current), "")
    where = shown_kubeconfig(options)
    if not chosen:
        hint = f"name one with --context: {', '.join(contexts)}" if contexts else ""
        raise CaptureError("the kubeconfig cannot be used: it names no current context", hint=hint, where=where)
    if chosen not in contexts:
        names = ", ".join(contexts)
        raise CaptureError(f"the kubeconfig has no context {chosen!r}", hint=f"it has: {names}", where=where)
    user = str(_inner_entry(contexts[chosen], "context").get("user") or "")
    entry = _inner_entry(_by_name(documents, "users").get(user, {}), "user")
    return ContextChoice(os.pathsep.join(files), chosen, user, find_impersonation(entry, options))


def find_impersonation(user: KubeconfigEntry, options: CaptureOptions) -> Impersonation:
    """What the command line says, or else what the kubeconfig's user says."""
    extra = user.get("as-user-extra")
    found = Impersonation(
        user=options.as_user or str(user.get("as") or ""),
        uid="" if options.as_user else str(user.get("as-uid") or ""),
        groups=options.as_groups or _text_list(user.get("as-groups")),
        extra={str(key): _text_list(texts) for key, texts in extra.items()} if isinstance(extra, dict) else {},
    )
    if not found.user and (found.uid or found.groups or found.extra):
        raise CaptureError("groups are to be impersonated without a user", hint="name the user with --as")
    return found


def shown_kubeconfig(options: CaptureOptions) -> str:
    """The kubeconfig as the user knows it."""
    return options.kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"


def default_kubeconfig() -> Path:
    """Where kubectl keeps it."""
    return Path("~/.kube/config").expanduser()


def _kubeconfig_files(options: CaptureOptions) -> list[str]:
    """The files that exist; of KUBECONFIG's list some may be missing."""
    if options.kubeconfig:
        file = Path(options.kubeconfig).expanduser()
        if not file.is_file():
            raise CaptureError("no such kubeconfig file", where=options.kubeconfig)
        return [str(file)]
    listed = [Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    files = [str(file) for file in listed or [default_kubeconfig()] if file.is_file()]
    if not files:
        raise CaptureError("the kubeconfig cannot be used: no such file", where=shown_kubeconfig(options))
    return list(dict.fromkeys(files))


def _read_document(file: str) -> KubeconfigEntry:
    try:
        document = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as failure:
        raise CaptureError(f"the kubeconfig cannot be used: {' '.join(str(failure).split())}", where=file) from failure
    if not isinstance(document, dict):
        raise CaptureError("the kubeconfig cannot be used: it is no mapping", where=file)
    return document


def _by_name(documents: list[KubeconfigEntry], section: str) -> dict[str, KubeconfigEntry]:
    """The entries of one section; the first of two with one name counts."""
    found: dict[str, KubeconfigEntry] = {}
    for document in documents:
        entries = document.get(section)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                found.setdefault(str(entry.get("name")), entry)
    return found


def _inner_entry(entry: KubeconfigEntry, key: str) -> KubeconfigEntry:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def _text_list(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()
