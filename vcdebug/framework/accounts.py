"""The accounts of plugins for queues, jobs and themselves: plugins declare them, the framework reads and records them.

Upstream: none; its plugins keep the same sums privately.
"""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import ClassVar, Final, Literal, Protocol

from msgspec import Struct

from vcdebug.framework.figures import LEDGER, RIPPLE, Books, FigureHead, Figures, Ripples, Value
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

Owner = Literal["queue", "job", ""]
QUEUE: Final = "queue"
JOB: Final = "job"
WHOLE: Final = ""
"""Owner of an account that covers the whole plugin: the plugin object itself holds the figures."""


def account_figures(*names: str, **elsewhere: str) -> Mapping[str, str]:
    """Map each figure's name in the trace to the account's attribute; keywords name attributes that differ."""
    return {**{name: name for name in names}, **elsewhere}


class Accounts(Struct, frozen=True):
    """One kind of account of a plugin: its owner, the attribute that holds it, and its figures."""

    owner: Owner
    kept_in: str
    """The plugin's attribute that maps owners to accounts; empty if the plugin object is the account."""
    figures: Mapping[str, str]
    """All figures in the order of the trace."""
    operation: tuple[str, ...] = ()
    """The figures that an operation on a task changes."""
    admission: tuple[str, ...] = ()
    """The figures that the admission of a job changes."""
    ancestors_attribute: str = ""
    """The account's attribute that names the ancestor accounts to which its sums are added; empty if there are none."""
    summed_figures: tuple[str, ...] = ()
    """The figures of an operation that are added to the ancestor accounts."""


class AccountHolder(Protocol):
    """A plugin that declares accounts."""

    accounts: ClassVar[tuple[Accounts, ...]]


class AccountLedger:
    """All accounts of one kind of an opened plugin."""

    def __init__(self, plugin: object, accounts: Accounts, jobs: Mapping[JobId, JobInfo]) -> None:
        self.accounts = accounts
        self._plugin = plugin
        self._jobs = jobs
        self._all: Figures = getattr(plugin, accounts.kept_in) if accounts.kept_in else {"": plugin}
        self._read_figures = _figure_reader(accounts, tuple(accounts.figures))
        self._operation = _tuple_reader(accounts, accounts.operation)
        self._admission = _figure_reader(accounts, accounts.admission)
        self._read_summed = _tuple_reader(accounts, accounts.summed_figures)
        self._read_ancestors = attrgetter(accounts.ancestors_attribute) if accounts.ancestors_attribute else None
        self._owner_is_job = accounts.owner == JOB
        self._last_figures: Figures = {}
        """Each job's figures at the last read: few of many jobs change in between."""
        self.stale_names: dict[str, None] = {}
        """Jobs whose figures may have changed since the last read."""

    def changed_by_operation(self, job: JobId, queue: QueueName) -> tuple[Value, ...]:
        """(owner, figures...) of the account of the task's job or queue; empty if the plugin has no account for it."""
        name = job if self._owner_is_job else queue
        account = self._all.get(name)
        return () if account is None else (name, *self._operation(account))

    def changed_above(self, job: JobId, queue: QueueName) -> Iterator[tuple[Value, ...]]:
        """Yield (owner, figures...) for each ancestor account of the task's account."""
        account = self._all.get(job if self._owner_is_job else queue)
        if account is not None and self._read_ancestors is not None:
            for other in self._read_ancestors(account):
                yield other, *self._read_summed(self._all[other])

    def changed_by_admission(self, job: JobInfo) -> Iterator[tuple[str, Figures]]:
        """Yield (owner, copied figures) for each account in which the admitted job counts, ancestors included."""
        name = {QUEUE: job.queue, JOB: job.uid, WHOLE: ""}[self.accounts.owner]
        account = self._all.get(name)
        if account is None or not self.accounts.admission:
            return
        yield name, _copy_figures(self._admission(account))
        for other in self._read_ancestors(account) if self._read_ancestors is not None else ():
            yield other, _copy_figures(self._admission(self._all[other]))

    def all_figures(self) -> Figures:
        """Copies of all figures of all accounts: {"queues": by name}, {"jobs": by id}, or the plugin's own figures."""
        if self.accounts.owner == WHOLE:
            return _copy_figures(self._read_figures(self._plugin))
        if self.accounts.owner == QUEUE:
            return {"queues": {name: _copy_figures(self._read_figures(account)) for name, account in self._all.items()}}
        stale = self._all if len(self._last_figures) != len(self._all) else self.stale_names
        if stale:
            figures = {name: _copy_figures(self._read_figures(self._all[name])) for name in stale if name in self._all}
            self._last_figures = {**self._last_figures, **figures}
            self.stale_names.clear()
        return {"jobs": self._last_figures}


class OpenAccounts:
    """The accounts of all plugins of an open session, by plugin name."""

    def __init__(self, plugins: Mapping[str, AccountHolder], jobs: Mapping[JobId, JobInfo]) -> None:
        self._ledgers = [
            (name, AccountLedger(plugins[name], accounts, jobs))
            for name in sorted(plugins)
            for accounts in plugins[name].accounts
        ]
        self._jobs = jobs
        owned = [(name, ledger) for name, ledger in self._ledgers if ledger.accounts.owner != WHOLE]
        self._operation_heads = [
            (FigureHead(name, LEDGER, (ledger.accounts.owner, *ledger.accounts.operation)), ledger)
            for name, ledger in owned
            if ledger.accounts.operation
        ]
        self._stale_jobs = [ledger.stale_names for _, ledger in self._operation_heads if ledger.accounts.owner == JOB]
        self._ripple_heads = [
            (FigureHead(name, RIPPLE, ("", *ledger.accounts.summed_figures)), ledger)
            for name, ledger in owned
            if ledger.accounts.summed_figures
        ]
        """Ledgers whose operations also change figures of ancestor accounts, with the heads of those figures."""

    def mark_stale(self, task: TaskInfo) -> None:
        """Mark the accounts of the task's job as stale: event handlers are about to change them."""
        for stale in self._stale_jobs:
            stale[task.job] = None

    def changed_by_operation(self, task: TaskInfo) -> tuple[tuple[FigureHead, ...], list[Value]]:
        """(heads, values): each plugin's account of the task's job or queue first, then their ancestor accounts."""
        job, queue = task.job, self._queue_of(task)
        heads: list[FigureHead] = []
        values: list[Value] = []
        for figure_head, ledger in self._operation_heads:
            changed = ledger.changed_by_operation(job, queue)
            if changed:
                heads.append(figure_head)
                values += changed
        for figure_head, ledger in self._ripple_heads:
            for changed in ledger.changed_above(job, queue):
                heads.append(figure_head)
                values += changed
        return (*heads,), values

    def _queue_of(self, task: TaskInfo) -> QueueName:
        """The task's queue; empty for a task without a job."""
        job = self._jobs.get(task.job)
        return "" if job is None else job.queue

    def changed_by_admission(self, job: JobInfo) -> Ripples:
        """(plugin, owner, copied figures) of every account that the admission of a job changes."""
        return [
            (name, key, changed) for name, ledger in self._ledgers for key, changed in ledger.changed_by_admission(job)
        ]

    def plugin_books(self) -> Books:
        """(plugin, all its figures) for every plugin with accounts."""
        books: dict[str, dict[str, Value]] = {}
        for name, ledger in self._ledgers:
            books.setdefault(name, {}).update(ledger.all_figures())
        return tuple(books.items())


def _tuple_reader(accounts: Accounts, names: tuple[str, ...]) -> Callable[[object], tuple[Value, ...]]:
    """A function that returns the named figures of an account as a tuple, without copying them."""
    if not names:
        return lambda _account: ()
    get = attrgetter(*(accounts.figures[name] for name in names))
    return get if len(names) > 1 else lambda account: (get(account),)


def _figure_reader(accounts: Accounts, names: tuple[str, ...]) -> Callable[[object], dict[str, Value]]:
    values = _tuple_reader(accounts, names)
    return lambda account: dict(zip(names, values(account), strict=True))


def _copy_figures(values: dict[str, Value]) -> Figures:
    """Copy the figures, so that later changes by the plugin do not reach the record."""
    return {name: value.clone() if isinstance(value, Resource) else value for name, value in values.items()}
