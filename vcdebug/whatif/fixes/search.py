"""The search for fixes: single changes, then changes on top of those that got further, then the amounts.

It runs no cycle itself: it yields the next trials and receives their outcomes, so trials can run in any process.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import AdviceHarm, Explanation
from vcdebug.explain.pending.explanation import PANIC_CAUSE
from vcdebug.explain.pending.gates.not_in_session import CAPTURE_INCOMPLETE
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.whatif.fixes.fix import Fix, FixKind, FixSituation
from vcdebug.whatif.fixes.plan import AmountBisection, FixPlan, TriedPlan, combined_plan, has_amount
from vcdebug.whatif.fixes.trial import EditTexts, FixTrials, TrialOutcome, propose_fixes

FixRounds = Generator[list[EditTexts], "list[TrialOutcome | None]", None]
"""Yields edits to try, each list independent of order; is sent an outcome for each."""
RunTrials = Callable[[list[EditTexts]], "list[TrialOutcome | None]"]

MAX_CHANGES: Final = 3
"""Changes that are combined at most."""
MAX_SHOWN_PLANS: Final = 8
"""Fixes that a person would look at."""
MAX_PARTIAL_PLANS: Final = 2
"""Changes that only get the job further, shown behind those that work, or where nothing does."""
TRIALS_PER_ROUND: Final = 8
"""Trials between two looks at the budget."""
FRONTIER_SIZE: Final = 4
"""Plans of one size that are built upon."""
TRIALS_AT_ONCE: Final = 2
"""Trials per round where the first success ends the search."""
MAX_ON_TOP: Final = 12
"""Fixes that are tried on top of each of them."""


class FixSearch:
    """Looks for fixes of one job; what it has found so far can be read at any time."""

    def __init__(
        self, cause: str, places: int, fixes: Sequence[Fix], relevant: int, *, has_minimum: bool = False
    ) -> None:
        self._has_minimum = has_minimum
        """Whether the job has its minimum and only other pods are Pending."""
        self._cause = cause
        self._places = places
        self._fixes = fixes
        self._relevant = relevant
        self._proven: list[TriedPlan] = []
        self._steps: list[TriedPlan] = []
        """Plans that change the cause or place more pods, but do not reach the goal."""
        self._tried: dict[EditTexts, TrialOutcome | None] = {}
        self._tight: list[frozenset[str]] = []
        """Families whose smallest working amounts are known."""
        self.finished = False
        """Whether all planned trials are done."""

    @property
    def settled_plans(self) -> list[TriedPlan]:
        """The best of those that work, or at least admit the job, whose smallest amounts are known."""
        return [one for one in self.best_plans if one.gets_in and one.plan.family_key in self._tight]

    @property
    def trial_count(self) -> int:
        """How many cycles were run."""
        return len([outcome for outcome in self._tried.values() if outcome is not None])

    @property
    def best_plans(self) -> list[TriedPlan]:
        """The best ones; steps that lead nowhere yet where nothing works, or where they admit the job at least."""
        further = [step for step in self._steps if step.outcome.admitted or step.outcome.places > self._places]
        if not self._proven:
            return _best_of_each(further)[:MAX_PARTIAL_PLANS]
        half_way = [step for step in self._steps if step.outcome.admitted and len(step.plan.fixes) == 1]
        proven = _without_needless(_best_of_each(self._proven))
        return [*proven, *_best_of_each(half_way)[:MAX_PARTIAL_PLANS]][:MAX_SHOWN_PLANS]

    def trial_rounds(self) -> FixRounds:
        """All trials, what is most likely to help first."""
        # Mild changes first, and their amounts at once: with enough of them, harmful ones are not tried at all.
        for kind in FixKind:
            fixes = [fix for fix in self._fixes[: self._relevant] if fix.kind is kind]
            if len(self.best_plans) < MAX_SHOWN_PLANS or not self._proven:
                yield from self._try_plans([FixPlan.of_fixes(fix) for fix in fixes])
                yield from self._tighten_amounts()
        if not self._proven:
            yield from self._try_plans([FixPlan.of_fixes(fix) for fix in self._fixes[self._relevant :]])
        if not self._proven:
            yield from self._try_everything()
        yield from self._try_chains()
        yield from self._shorten_plans()
        yield from self._tighten_amounts()
        self.finished = True

    def _try_everything(self) -> FixRounds:
        """All changes that go together at once, and of them the few that matter; then on top of what got further."""
        bases = [((), self._fixes), *((step.plan.fixes, step.outcome.fixes) for step in self._furthest_steps(1)[:2])]
        for first, fixes in bases:
            for harm in AdviceHarm:
                plan = combined_plan(fixes, harm, first)
                if len(plan.fixes) < len(first) + 2:
                    continue
                yield from self._try_plans([plan])
                outcome = self._tried.get(plan.all_edits)
                if outcome is not None and outcome.reached:
                    yield from self._reduce_plan(TriedPlan(plan, outcome))
                    return

    def _reduce_plan(self, remedy: TriedPlan) -> FixRounds:
        """Leave out halves, then quarters, at last single changes, the most harmful first."""
        self._proven = [remedy]
        size = (len(remedy.plan.fixes) + 1) // 2
        while size:
            count = len(remedy.plan.fixes)
            plans = [remedy.plan.without_places(range(max(0, end - size), end)) for end in range(count, 0, -size)]
            shorter = yield from self._first_that_works([plan for plan in plans if plan.fixes])
            if shorter is None:
                size //= 2
                continue
            remedy = shorter
            self._proven = [remedy]
            size = min(size, (len(remedy.plan.fixes) + 1) // 2)

    def _first_that_works(
        self, plans: Sequence[FixPlan]
    ) -> Generator[list[EditTexts], list[TrialOutcome | None], TriedPlan | None]:
        """Try plans, a few at a time."""
        for start in range(0, len(plans), TRIALS_AT_ONCE):
            some = plans[start : start + TRIALS_AT_ONCE]
            fresh = [plan.all_edits for plan in some if plan.all_edits not in self._tried]
            if fresh:
                self._tried.update(zip(fresh, (yield fresh), strict=True))
            for plan in some:
                outcome = self._tried[plan.all_edits]
                if outcome is not None and outcome.reached:
                    return TriedPlan(plan, outcome)
        return None

    def _try_chains(self) -> FixRounds:
        """Changes on top of those that got further, as long as they are fewer than what is known to work."""
        for size in range(2, MAX_CHANGES + 1):
            safe = [len(remedy.plan.fixes) for remedy in self._proven if remedy.plan.worst_kind < FixKind.OTHER_PODS]
            if safe and min(safe) <= size:
                return
            yield from self._try_plans(_built_upon(self._furthest_steps(size - 1)))

    def _try_plans(self, plans: Sequence[FixPlan]) -> FixRounds:
        """Try plans in rounds; what is new goes to the proven ones or to the steps."""
        fresh = list({frozenset(plan.all_edits): plan for plan in plans if plan.all_edits not in self._tried}.values())
        for start in range(0, len(fresh), TRIALS_PER_ROUND):
            known = [remedy.plan.family_key for remedy in self._proven]
            some = [plan for plan in fresh[start : start + TRIALS_PER_ROUND] if plan.family_key not in known]
            if not some:
                continue
            for plan, outcome in zip(some, (yield [plan.all_edits for plan in some]), strict=True):
                self._tried[plan.all_edits] = outcome
                if outcome is not None and outcome.reached:
                    self._proven.append(TriedPlan(plan, outcome))
                elif outcome is not None and self._is_further(outcome) and len(plan.fixes) <= MAX_CHANGES:
                    self._steps.append(TriedPlan(plan, outcome))

    def _is_further(self, outcome: TrialOutcome) -> bool:
        return outcome.admitted or outcome.cause != self._cause or outcome.places > self._places

    def _furthest_steps(self, size: int) -> list[TriedPlan]:
        steps = [step for step in self._steps if len(step.plan.fixes) == size and step.outcome.fixes]
        ranked = sorted(
            steps,
            key=lambda step: (
                step.plan.worst_kind >= FixKind.OVERRIDE,
                -step.outcome.places,
                step.plan.worst_harm,
                len(step.outcome.costs),
            ),
        )
        causes: dict[str, int] = {}
        kept = []
        for step in ranked:
            causes[step.outcome.cause] = causes.get(step.outcome.cause, 0) + 1
            if causes[step.outcome.cause] <= FRONTIER_SIZE // 2:
                kept.append(step)
        return kept[:FRONTIER_SIZE]

    def _shorten_plans(self) -> FixRounds:
        """Leave out what a plan does not need."""
        for remedy in [one for one in self._proven if len(one.plan.fixes) > 1]:
            shorter = [remedy.plan.without_places([place]) for place in range(len(remedy.plan.fixes))]
            before = len(self._proven)
            yield from self._try_plans(shorter)
            known = [self._tried.get(plan.all_edits) for plan in shorter]
            if len(self._proven) > before or any(one is not None and one.reached for one in known):
                self._proven.remove(remedy)

    def _tighten_amounts(self) -> FixRounds:
        """The mildest amount of each fix that works, by bisection of all at once."""
        loose = [one for one in self.best_plans if one.gets_in and one.plan.family_key not in self._tight]
        for place in range(max((len(remedy.plan.fixes) for remedy in loose), default=0)):
            open_ = [
                AmountBisection(remedy, place, has_minimum=self._has_minimum)
                for remedy in loose
                if has_amount(remedy.plan, place)
            ]
            while busy := [one for one in open_ if not one.is_done]:
                plans = [one.halfway_plan for one in busy]
                for one, plan, outcome in zip(busy, plans, (yield [plan.all_edits for plan in plans]), strict=True):
                    self._tried[plan.all_edits] = outcome
                    one.learn_result(plan, outcome)
            closed = {id(one.before): one.remedy for one in open_}
            loose = [closed.get(id(remedy), remedy) for remedy in loose]
            self._proven = [closed.get(id(remedy), remedy) for remedy in self._proven]
            self._steps = [closed.get(id(step), step) for step in self._steps]
        self._tight += [remedy.plan.family_key for remedy in loose]


def _best_of_each(remedies: Sequence[TriedPlan]) -> list[TriedPlan]:
    """The best of each family, the best first."""
    ordered = sorted(remedies, key=lambda remedy: remedy.rank_key)
    mildest = {remedy.plan.family_key: remedy for remedy in reversed(ordered)}
    return [remedy for remedy in ordered if mildest[remedy.plan.family_key] is remedy]


def _without_needless(remedies: Sequence[TriedPlan]) -> list[TriedPlan]:
    """Without plans that change more than another one needs, and place no more pods."""
    return [one for one in remedies if not any(one.does_more_than(other) for other in remedies)]


def _built_upon(frontier: Sequence[TriedPlan]) -> list[FixPlan]:
    """Fixes on top of each plan, alternating between plans, so that no plan uses up the trials."""
    stacks = [[FixPlan.of_fixes(*step.plan.fixes, fix) for fix in _other_fixes(step)[:MAX_ON_TOP]] for step in frontier]
    return [stack[at] for at in range(MAX_ON_TOP) for stack in stacks if at < len(stack)]


def _other_fixes(step: TriedPlan) -> list[Fix]:
    """What could be tried on top, of another aspect: nothing is changed twice."""
    there = [fix.aspect for fix in step.plan.fixes if fix.aspect]
    return [fix for fix in step.outcome.fixes if fix.aspect not in there]


def run_search(
    search: FixSearch, run: RunTrials, go_on: Callable[[FixSearch], bool] = lambda _search: True
) -> FixSearch:
    """Run the search's trials until it is finished or cancelled."""
    rounds = search.trial_rounds()
    wanted = next(rounds, None)
    while wanted is not None and go_on(search):
        try:
            wanted = rounds.send(run(wanted))
        except StopIteration:
            break
    rounds.close()
    return search


def start_search(recording: Recording, explanation: Explanation) -> FixSearch:
    """A search that has not begun."""
    situation = FixSituation(recording, explanation)
    # Where the capture is incomplete, what it lacks may be in the cluster: a change that makes it fixes nothing.
    proposed = propose_fixes(situation) if explanation.cause_code != CAPTURE_INCOMPLETE else []
    relevant = len([fix for fix in proposed if any(fix.is_for_cause(cause) for cause in situation.cause_codes)])
    done = cycle_effects(recording)
    places = len([one for one in (*done.bound, *done.pipelined) if one.job == explanation.job])
    job = situation.job
    has_minimum = job is not None and job.ready_task_num() >= job.min_available
    return FixSearch(explanation.cause_code, places, proposed, relevant, has_minimum=has_minimum)


def trials_of(recording: Recording, explanation: Explanation) -> FixTrials:
    """What runs its trials."""
    return FixTrials.of_recording(recording, explanation)


def describe_conclusion(search: FixSearch) -> str:
    """What cannot be had, in one sentence; empty where single changes do."""
    tried = count_noun(search.trial_count, "replay")
    best = search.best_plans[:1]
    if not search.finished and not (best and best[0].is_proven):
        return f"No fix found in {tried}; the search stopped at its budget."
    if not best or not best[0].is_proven:
        return f"None of the changes tried, alone or combined, gets the job scheduled ({tried})."
    fewest = min(len(remedy.plan.fixes) for remedy in search.best_plans if remedy.is_proven)
    if fewest == 1:
        return ""
    if not search.finished:
        return f"Stopped at the budget ({tried}): some of these {fewest} changes may be unnecessary."
    return f"No combination of fewer than {fewest} of the changes tried works ({tried})."


# The few fixes of a plain answer.

MAX_SHORT_FIXES: Final = 3
MIN_SHORT_TRIALS, MAX_SHORT_TRIALS, EVENTS_OF_SHORT_TRIALS = 12, 40, 150_000
"""A plain answer tests fixes where it can afford that many replays, counted by the events that they record."""
MAX_FIRST_TRIALS: Final = 160
"""Replays of a plain answer that has no fix yet: then often only two changes together help."""


def short_trial_count(recording: Recording) -> int:
    """How many replays a plain answer can afford for fixes; 0 where the snapshot is too large."""
    count = EVENTS_OF_SHORT_TRIALS // max(len(recording), 1)
    return count if count >= MIN_SHORT_TRIALS else 0


def search_few_fixes(
    recording: Recording, explanation: Explanation, may_continue: Callable[[], bool] = lambda: True
) -> FixSearch | None:
    """The search of a plain answer, in this thread; None where the snapshot is too large for it."""
    affordable = short_trial_count(recording)
    if not affordable or explanation.cause_code == PANIC_CAUSE:
        return None
    search, trials = start_search(recording, explanation), trials_of(recording, explanation)
    return run_search(
        search,
        lambda wanted: [trials(edits) if may_continue() else None for edits in wanted],
        lambda search: _may_go_on(search, affordable) and may_continue(),
    )


def _may_go_on(search: FixSearch, affordable: int) -> bool:
    """Whether a plain answer tries more: until it has enough fixes, and longer where it has none."""
    found = len(_distinct_plans(search))
    most = MAX_SHORT_TRIALS if found else max(MAX_SHORT_TRIALS, min(affordable // 2, MAX_FIRST_TRIALS))
    return found <= MAX_SHORT_FIXES and search.trial_count < min(affordable, most)


def short_plans(search: FixSearch) -> list[TriedPlan]:
    """The first tested fixes, one of each aspect; at most one of them does not place the job."""
    plans = _distinct_plans(search)
    found = [one for one in plans if one.is_proven]
    # A rule that is configured wrongly is worth a line even where the pods then wait for something else.
    partial = [one for one in plans if not one.is_proven and one.plan.worst_kind <= FixKind.ENTITLEMENT]
    return [*found[: MAX_SHORT_FIXES - bool(partial)], *partial[:1]]


def _distinct_plans(search: FixSearch) -> list[TriedPlan]:
    """The first plan of each aspect: three priorities that all work are one piece of advice."""
    firsts = {one.plan.aspect_key: one for one in reversed(search.settled_plans)}
    return [one for one in search.settled_plans if firsts[one.plan.aspect_key] is one]
