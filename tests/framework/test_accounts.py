"""Plugins declare their figures, and the framework records what an operation or an admission changed."""

from typing import ClassVar

from tests.architecture.source_tree import sources
from tests.builders import cluster, node, open_session, pod_group, pods, queue, task
from vcdebug.framework.accounts import JOB, QUEUE, WHOLE, Accounts, OpenAccounts, account_figures
from vcdebug.framework.figures import LEDGER, RIPPLE, FigureHead
from vcdebug.framework.session import Session
from vcdebug.model.resource import Resource


class Held:
    """An account with an amount and the accounts above it."""

    def __init__(self, cpu: float, above: tuple[str, ...] = ()) -> None:
        self.held = Resource(cpu)
        self.above = above


class Bank:
    """A plugin with accounts per queue and a total."""

    accounts: ClassVar[tuple[Accounts, ...]] = (
        Accounts(WHOLE, "", account_figures(all="total")),
        Accounts(
            QUEUE,
            "queues",
            account_figures("held"),
            ("held",),
            admission=("held",),
            ancestors_attribute="above",
            summed_figures=("held",),
        ),
    )

    def __init__(self) -> None:
        self.total = Resource(9.0)
        self.queues = {"root": Held(3.0), "a": Held(2.0, ("root",))}


class Clerk:
    """A plugin with accounts per job."""

    accounts: ClassVar[tuple[Accounts, ...]] = (Accounts(JOB, "jobs", {"amount": "held"}, ("amount",)),)

    def __init__(self) -> None:
        self.jobs = {"default/j": Held(1.0), "default/k": Held(5.0)}


def session() -> Session:
    jobs = (pod_group("j", queue="a"), pods("j", 1), pod_group("k", queue="elsewhere"), pods("k", 1))
    return open_session(cluster(node("n1"), queue("root"), queue("a"), queue("elsewhere"), *jobs), "gang")


def test_an_operation_changes_the_account_of_the_tasks_owner_and_those_above_it() -> None:
    ssn, bank, clerk = session(), Bank(), Clerk()
    found = OpenAccounts({"bank": bank, "clerk": clerk}, ssn.jobs)
    heads, values = found.changed_by_operation(task(ssn, "j-0"))
    assert (
        FigureHead("bank", LEDGER, ("queue", "held")),
        FigureHead("clerk", LEDGER, ("job", "amount")),
        FigureHead("bank", RIPPLE, ("", "held")),
    ) == heads
    assert ["a", bank.queues["a"].held, "default/j", clerk.jobs["default/j"].held] == values[:4]
    assert ["root", bank.queues["root"].held] == values[4:]


def test_a_queue_without_an_account_changes_nothing() -> None:
    ssn = session()
    found = OpenAccounts({"bank": Bank()}, ssn.jobs)
    assert ((), []) == found.changed_by_operation(task(ssn, "k-0"))
    assert [] == found.changed_by_admission(ssn.jobs["default/k"])


def test_an_admission_changes_the_queue_and_what_is_above_and_keeps_copies() -> None:
    ssn, bank = session(), Bank()
    changed = OpenAccounts({"bank": bank}, ssn.jobs).changed_by_admission(ssn.jobs["default/j"])
    bank.queues["a"].held.add(Resource(100.0))
    assert [("bank", "a", 2.0), ("bank", "root", 3.0)] == [(p, name, one["held"].milli_cpu) for p, name, one in changed]


def test_books_hold_the_plugins_own_figures_first_and_read_a_job_again_only_when_it_was_touched() -> None:
    ssn, clerk = session(), Clerk()
    accounts = OpenAccounts({"clerk": clerk, "bank": Bank()}, ssn.jobs)
    assert ["bank", "clerk"] == [plugin for plugin, _ in accounts.plugin_books()]
    assert ["all", "queues"] == list(dict(accounts.plugin_books())["bank"])
    first = dict(accounts.plugin_books())["clerk"]["jobs"]
    clerk.jobs["default/j"].held.add(Resource(1.0))
    accounts.mark_stale(task(ssn, "j-0"))
    second = dict(accounts.plugin_books())["clerk"]["jobs"]
    assert (1.0, 2.0) == (first["default/j"]["amount"].milli_cpu, second["default/j"]["amount"].milli_cpu)
    assert first["default/k"] is second["default/k"]


def test_no_plugin_writes_to_the_recording() -> None:
    """The framework records plugins' figures; plugins record only quirks and PodGroup events."""
    words = (".record.change", ".record.append", ".record.operation", "def ledger", "def books")
    found = [source.where() for source in sources("plugins") for line in source.lines for w in words if w in line]
    assert [] == found
