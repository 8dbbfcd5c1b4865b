"""The search for fixes: single changes, then further changes on top of partial successes, then amounts.

It runs no cycle itself: it yields the next trials and receives their outcomes, so trials can run in any process.
"""

from collections.abc import Callable, Container, Generator, Sequence
from typing import Final

from vcdebug.amount_text import count_noun
from vcdebug.explain.answer import MAX_SHORT_FIXES, Cause, Explanation
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.whatif.fixes.fix import Fix, FixKind, FixSituation
from vcdebug.whatif.fixes.plan import AmountBisection, FixPlan, TriedPlan, combined_plan, has_amount
from vcdebug.whatif.fixes.trial import EditTexts, FixTrials, TrialOutcome, propose_fixes

FixRounds = Generator[list[EditTexts], "list[TrialOutcome | None]", None]
"""A generator that yields lists of edits to try and receives an outcome for each."""
RunTrials = Callable[[list[EditTexts]], "list[TrialOutcome | None]"]

_MILD: Final = (FixKind.REPAIR, FixKind.ENTITLEMENT, FixKind.OWN_SETTINGS)
COMBINED_KINDS: Final = (_MILD, (*_MILD, FixKind.MORE_ROOM), (*_MILD, FixKind.SMALLER), tuple(FixKind))
"""Kinds of changes that are tried together: those that neither shrink the job nor harm other jobs come first."""
MAX_CHANGES: Final = 3
"""The maximum number of changes in a plan."""
MAX_SHOWN_PLANS: Final = 8
"""The maximum number of plans shown."""
MAX_PARTIAL_PLANS: Final = 2
"""The maximum number of shown plans that help the job but do not place it."""
TRIALS_PER_ROUND: Final = 8
"""Trials per round; the budget is checked between rounds."""
FRONTIER_SIZE: Final = 4
"""Plans of one size to which further fixes are added."""
MAX_COMPLETING: Final = 3
"""Further settings that are tried on top of one before changes that shrink the job or cost nodes."""
MAX_ON_TOP: Final = 12
"""Fixes that are tried in addition to each of these plans."""


class FixSearch:
    """The search for fixes of one job; the results so far can be read at any time."""

    def __init__(
        self, cause: str, places: int, fixes: Sequence[Fix], relevant_count: int, *, has_minimum: bool = False
    ) -> None:
        self._has_minimum = has_minimum
        """Whether the job has its minimum and only other pods are Pending."""
        self._cause = cause
        self._places = places
        self._fixes = fixes
        self._relevant = relevant_count
        self._working: list[TriedPlan] = []
        self._steps: list[TriedPlan] = []
        """Plans that change the cause or place more pods, but do not reach the goal."""
        self._outcomes: dict[EditTexts, TrialOutcome | None] = {}
        self._tight: list[frozenset[str]] = []
        """Families whose smallest working amounts are known."""
        self.is_finished = False
        """Whether all planned trials are done."""

    @property
    def settled_plans(self) -> list[TriedPlan]:
        """The best plans that place or at least admit the job and whose smallest amounts are known."""
        return [one for one in self.best_plans if one.is_worth_telling and one.plan.family_key in self._tight]

    @property
    def trial_count(self) -> int:
        """The number of replayed cycles."""
        return len([outcome for outcome in self._outcomes.values() if outcome is not None])

    @property
    def best_plans(self) -> list[TriedPlan]:
        """The best plans: proven ones, then some that only admit the job; without proven ones, some that help."""
        partial = [step for step in self._steps if step.is_worth_telling or step.outcome.placed > self._places]
        if not self._working:
            return _best_of_each(partial)[:MAX_PARTIAL_PLANS]
        admitting = [step for step in self._steps if step.is_worth_telling and len(step.plan.fixes) == 1]
        proven = _without_needless(_best_of_each(self._working))
        return [*proven, *_best_of_each(admitting)[:MAX_PARTIAL_PLANS]][:MAX_SHOWN_PLANS]

    def trial_rounds(self) -> FixRounds:
        """All trials, the most promising first."""
        # Mild changes and their amounts first: if enough of them work, harmful changes are not tried.
        for kind in FixKind:
            fixes = [fix for fix in self._fixes[: self._relevant] if fix.kind is kind]
            if len(self.best_plans) < MAX_SHOWN_PLANS or not self._working:
                yield from self._try_plans([FixPlan.of_fixes(fix) for fix in fixes])
                if kind is FixKind.OWN_SETTINGS and not self._working:
                    yield from self._complete_settings()
                yield from self._tighten_amounts()
        if not self._working:
            yield from self._try_plans([FixPlan.of_fixes(fix) for fix in self._fixes[self._relevant :]])
        yield from self._try_all_changes()
        yield from self._try_chains()
        yield from self._shorten_plans()
        yield from self._tighten_amounts()
        self.is_finished = True

    def _complete_settings(self) -> FixRounds:
        """Try further settings on top of the best one that does not suffice alone."""
        steps = [step for step in self._furthest_steps(1) if step.plan.worst_kind in _MILD]
        for step in steps[:1]:
            further = [fix for fix in _other_fixes(step) if fix.kind in _MILD and fix.is_for_cause(step.outcome.cause)]
            plans = [FixPlan.of_fixes(*sorted((*step.plan.fixes, fix), key=lambda fix: fix.kind)) for fix in further]
            yield from self._try_plans(plans[:MAX_COMPLETING])
        # At once, since a short search may end before it drops what a plan does not need.
        yield from self._shorten_plans()

    def _try_all_changes(self) -> FixRounds:
        """Try all compatible changes of some kinds at once, until a plan of these kinds works."""
        for kinds in COMBINED_KINDS:
            if not any(remedy.plan.worst_kind in (*kinds, FixKind.MORE_ROOM) for remedy in self._working):
                yield from self._try_combinations(kinds)

    def _try_combinations(self, kinds: Container[FixKind]) -> FixRounds:
        """Try all compatible changes of these kinds at once, also on top of the best partial plans."""
        steps = [step for step in self._furthest_steps(1) if step.plan.worst_kind in kinds]
        for base_fixes, fixes in [((), self._fixes), *((step.plan.fixes, step.outcome.fixes) for step in steps[:2])]:
            plan = combined_plan(fixes, kinds, base_fixes)
            if len(plan.fixes) < len(base_fixes) + 2:
                continue
            yield from self._try_plans([plan])
            outcome = self._outcomes.get(plan.all_edits)
            if outcome is not None and outcome.is_reached:
                yield from self._reduce_plan(TriedPlan(plan, outcome))
                return

    def _reduce_plan(self, remedy: TriedPlan) -> FixRounds:
        """Remove unnecessary changes from a plan that works: halves, quarters, then single ones.

        Always from the end: removing a half at the beginning could keep a change of a later kind instead of a mild one.
        """
        segments = [range(len(remedy.plan.fixes))]
        while segments:
            segment = segments.pop()
            plan = remedy.plan.without_fixes(segment)
            if plan.fixes and (yield from self._works(plan)):
                outcome = self._outcomes[plan.all_edits]
                assert outcome is not None
                shorter = TriedPlan(plan, outcome)
                self._working[self._working.index(remedy)] = shorter
                remedy = shorter
            elif len(segment) > 1:
                middle = len(segment) // 2
                segments += [segment[:middle], segment[middle:]]
        # Several changes that cost other jobs something are no better than the single one that works.
        if remedy.outcome.costs and len(self._working) > 1:
            self._working.remove(remedy)

    def _works(self, plan: FixPlan) -> Generator[list[EditTexts], list[TrialOutcome | None], bool]:
        """Try one plan, unless it was tried before; returns whether it works."""
        if plan.all_edits not in self._outcomes:
            self._outcomes[plan.all_edits] = (yield [plan.all_edits])[0]
        outcome = self._outcomes[plan.all_edits]
        return outcome is not None and outcome.is_reached

    def _try_chains(self) -> FixRounds:
        """Try further changes on top of partial plans, as long as these are smaller than every known safe plan."""
        for size in range(2, MAX_CHANGES + 1):
            sizes = [len(remedy.plan.fixes) for remedy in self._working if remedy.plan.worst_kind < FixKind.OTHER_PODS]
            if sizes and min(sizes) <= size:
                return
            yield from self._try_plans(_extended_plans(self._furthest_steps(size - 1)))

    def _try_plans(self, plans: Sequence[FixPlan]) -> FixRounds:
        """Try plans in rounds; those that work are added to the proven ones, partial ones to the steps."""
        fresh = list({frozenset(one.all_edits): one for one in plans if one.all_edits not in self._outcomes}.values())
        for start in range(0, len(fresh), TRIALS_PER_ROUND):
            families = [remedy.plan.family_key for remedy in self._working]
            batch = [plan for plan in fresh[start : start + TRIALS_PER_ROUND] if plan.family_key not in families]
            if not batch:
                continue
            for plan, outcome in zip(batch, (yield [plan.all_edits for plan in batch]), strict=True):
                self._outcomes[plan.all_edits] = outcome
                tried = TriedPlan(plan, outcome) if outcome is not None else None
                if tried is not None and tried.is_proven:
                    self._working.append(tried)
                elif tried is not None and self._is_further(tried) and len(plan.fixes) <= MAX_CHANGES:
                    self._steps.append(tried)

    def _is_further(self, tried: TriedPlan) -> bool:
        outcome = tried.outcome
        return tried.corrects or outcome.admitted or outcome.cause != self._cause or outcome.placed > self._places

    def _furthest_steps(self, size: int) -> list[TriedPlan]:
        steps = [step for step in self._steps if len(step.plan.fixes) == size and step.outcome.fixes]
        ranked = sorted(
            steps,
            key=lambda step: (
                step.plan.worst_kind >= FixKind.OVERRIDE,
                -step.outcome.placed,
                step.plan.worst_harm,
                len(step.outcome.costs),
            ),
        )
        causes: dict[str, int] = {}
        frontier = []
        for step in ranked:
            causes[step.outcome.cause] = causes.get(step.outcome.cause, 0) + 1
            if causes[step.outcome.cause] <= FRONTIER_SIZE // 2:
                frontier.append(step)
        return frontier[:FRONTIER_SIZE]

    def _shorten_plans(self) -> FixRounds:
        """Try each proven plan without one of its fixes, and drop the plan if a shorter one works."""
        for remedy in [one for one in self._working if len(one.plan.fixes) > 1]:
            shorter = [remedy.plan.without_fixes([index]) for index in range(len(remedy.plan.fixes))]
            proven_count = len(self._working)
            yield from self._try_plans(shorter)
            outcomes = [self._outcomes.get(plan.all_edits) for plan in shorter]
            if len(self._working) > proven_count or any(one is not None and one.is_reached for one in outcomes):
                self._working.remove(remedy)

    def _tighten_amounts(self) -> FixRounds:
        """Find the mildest working amounts of the best plans, by bisections that run side by side."""
        loose = [one for one in self.best_plans if one.is_worth_telling and one.plan.family_key not in self._tight]
        for index in range(max((len(remedy.plan.fixes) for remedy in loose), default=0)):
            halvings = [
                AmountBisection(remedy, index, has_minimum=self._has_minimum)
                for remedy in loose
                if has_amount(remedy.plan, index)
            ]
            while busy := [one for one in halvings if not one.is_done]:
                plans = [one.halfway_plan for one in busy]
                for one, plan, outcome in zip(busy, plans, (yield [plan.all_edits for plan in plans]), strict=True):
                    self._outcomes[plan.all_edits] = outcome
                    one.learn_result(plan, outcome)
            tightened = {id(one.before): one.best_plan for one in halvings}
            loose = [tightened.get(id(remedy), remedy) for remedy in loose]
            self._working = [tightened.get(id(remedy), remedy) for remedy in self._working]
            self._steps = [tightened.get(id(step), step) for step in self._steps]
        self._tight += [remedy.plan.family_key for remedy in loose]


def _best_of_each(remedies: Sequence[TriedPlan]) -> list[TriedPlan]:
    """The best plan of each family, in order of rank."""
    ordered = sorted(remedies, key=lambda remedy: remedy.rank_key)
    mildest = {remedy.plan.family_key: remedy for remedy in reversed(ordered)}
    return [remedy for remedy in ordered if mildest[remedy.plan.family_key] is remedy]


def _without_needless(remedies: Sequence[TriedPlan]) -> list[TriedPlan]:
    """The plans without those that contain a shorter plan, or change the same things, and do nothing more."""
    needed = [remedy for remedy in remedies if not any(remedy.does_more_than(other) for other in remedies)]
    firsts = {remedy.same_effect_key: remedy for remedy in reversed(needed)}
    return [remedy for remedy in needed if firsts[remedy.same_effect_key] is remedy]


def _extended_plans(frontier: Sequence[TriedPlan]) -> list[FixPlan]:
    """Each plan with one more fix, alternating between plans, so that no plan uses up the trials."""
    stacks = [[FixPlan.of_fixes(*step.plan.fixes, fix) for fix in _other_fixes(step)[:MAX_ON_TOP]] for step in frontier]
    return [stack[index] for index in range(MAX_ON_TOP) for stack in stacks if index < len(stack)]


def _other_fixes(step: TriedPlan) -> list[Fix]:
    """Fixes that may be added to a tried plan: those of aspects that the plan does not change."""
    aspects = [fix.aspect for fix in step.plan.fixes if fix.aspect]
    return [fix for fix in step.outcome.fixes if fix.aspect not in aspects]


def run_search(
    search: FixSearch, run: RunTrials, may_continue: Callable[[FixSearch], bool] = lambda _search: True
) -> FixSearch:
    """Run the search's trials until it is finished or cancelled."""
    rounds = search.trial_rounds()
    edit_lists = next(rounds, None)
    while edit_lists is not None and may_continue(search):
        try:
            edit_lists = rounds.send(run(edit_lists))
        except StopIteration:
            break
    rounds.close()
    return search


def start_search(recording: Recording, explanation: Explanation) -> FixSearch:
    """A new search for fixes of an explained job, before its first trial."""
    situation = FixSituation(recording, explanation)
    # No fixes for an incomplete capture: the missing objects may well exist in the cluster.
    # None either where only a change outside the scheduler repairs the cause: they would help the wrong object.
    is_repaired_outside = any(line.repairs and line.cannot_be_replayed for line in explanation.advised)
    is_hopeless = explanation.cause_code == Cause.CAPTURE_INCOMPLETE or is_repaired_outside
    proposed = [] if is_hopeless else propose_fixes(situation)
    if explanation.scheduled:
        flaws = [flaw.value for flaw in explanation.dominant.flaws]
        proposed = [fix for fix in proposed if any(map(fix.is_for_cause, flaws))]
    relevant = len([fix for fix in proposed if any(fix.is_for_cause(cause) for cause in situation.cause_codes)])
    effects = cycle_effects(recording)
    places = len([effect for effect in (*effects.bound, *effects.pipelined) if effect.job == explanation.job])
    job = situation.job
    has_minimum = job is not None and job.ready_task_num() >= job.min_available
    return FixSearch(explanation.cause_code, places, proposed, relevant, has_minimum=has_minimum)


def describe_conclusion(search: FixSearch) -> str:
    """The conclusion of a search in one sentence; empty if it is finished and a single change works."""
    tried = count_noun(search.trial_count, "replay")
    best = search.best_plans[:1]
    if search.is_finished and not search.trial_count:
        return ""
    if not search.is_finished and not (best and best[0].is_proven):
        return f"No fix found in {tried}; the search stopped at its budget."
    if not best or not best[0].is_proven:
        return f"None of the changes tried, alone or combined, gets the job scheduled ({tried})."
    fewest = min(len(remedy.plan.fixes) for remedy in search.best_plans if remedy.is_proven)
    if fewest == 1:
        return "" if search.is_finished else f"Stopped at the budget ({tried}): there may be further fixes."
    if not search.is_finished:
        return f"Stopped at the budget ({tried}): some of these {fewest} changes may be unnecessary."
    return f"No combination of fewer than {fewest} of the changes tried works ({tried})."


# The few fixes of a plain answer.

MIN_SHORT_TRIALS, MAX_SHORT_TRIALS, EVENTS_OF_SHORT_TRIALS = 12, 40, 150_000
"""Limits of tested fixes in a plain answer: replays at least and at most, and events of all replays."""
MAX_FIRST_TRIALS: Final = 160
"""The maximum number of replays of a plain answer without a fix so far, which often needs two changes."""


def short_trial_count(recording: Recording) -> int:
    """The number of replays that a plain answer can afford for fixes; 0 if the snapshot is too large."""
    count = EVENTS_OF_SHORT_TRIALS // max(len(recording), 1)
    return count if count >= MIN_SHORT_TRIALS else 0


def search_few_fixes(
    recording: Recording, explanation: Explanation, may_continue: Callable[[], bool] = lambda: True
) -> FixSearch | None:
    """Run the short search of a plain answer in this thread, once per subject unless `may_continue` ends it early; None
    for a large snapshot or a panic.
    """
    if not short_trial_count(recording) or explanation.cause_code == Cause.PANIC:
        return None
    complete_searches, subject = _complete_short_searches(recording), explanation.subject_name
    if subject in complete_searches:
        return complete_searches[subject]
    search, trials = start_search(recording, explanation), FixTrials.of_recording(recording, explanation)
    run_search(
        search,
        lambda edit_lists: [trials(edits) if may_continue() else None for edits in edit_lists],
        lambda search: wants_short_search(recording, search) and may_continue(),
    )
    if may_continue():
        complete_searches[subject] = search
    return search


@per_recording()
def _complete_short_searches(recording: Recording) -> dict[str, FixSearch]:
    """The short searches that were not ended early, by job or pod."""
    return {}


def wants_short_search(recording: Recording, search: FixSearch) -> bool:
    """Whether the short search of a plain answer continues: until it has enough fixes, and longer if it has none."""
    affordable = short_trial_count(recording)
    plan_count = len(_distinct_plans(search))
    max_trials = MAX_SHORT_TRIALS if plan_count else max(MAX_SHORT_TRIALS, min(affordable // 2, MAX_FIRST_TRIALS))
    return plan_count <= MAX_SHORT_FIXES and search.trial_count < min(affordable, max_trials)


def short_plans(search: FixSearch) -> list[TriedPlan]:
    """The best tested plans, one per aspect; at most one of them does not place the job: it comes first if it corrects
    a fault that the answer names, and admits the job.
    """
    plans = _distinct_plans(search)
    proven = [remedy for remedy in plans if remedy.is_proven]
    # A misconfigured rule is shown even if the pods are then Pending for another reason.
    partial = [remedy for remedy in plans if not remedy.is_proven and remedy.plan.worst_kind <= FixKind.ENTITLEMENT]
    is_first = bool(partial) and partial[0].corrects and partial[0].outcome.admitted
    shown = proven[: MAX_SHORT_FIXES - bool(partial)]
    return [*partial[:1], *shown] if is_first else [*shown, *partial[:1]]


def _distinct_plans(search: FixSearch) -> list[TriedPlan]:
    """The first settled plan of each aspect, so that three working priorities count as one fix."""
    firsts = {remedy.plan.aspect_key: remedy for remedy in reversed(search.settled_plans)}
    return [remedy for remedy in search.settled_plans if firsts[remedy.plan.aspect_key] is remedy]
