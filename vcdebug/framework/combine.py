"""How the answers of several plugins are combined into one: an object per rule, not per extension point.

A new rule is a class with `combine`, `answer_if_silent` and `description`, and one line that makes its object.

Upstream: framework/session_plugins.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from vcdebug.framework.plugin_answers import ABSTAIN, ValidateResult, VictimAnswer
from vcdebug.framework.quirks import INTERSECTION_RESTARTED, TIER_VETO_UNDONE
from vcdebug.framework.record import Record
from vcdebug.framework.subject import TracedCall
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo

R = TypeVar("R")
Args = tuple[Any, ...]  # Any: each extension point has its own
Answer = Any  # Any: each extension point has its own
Call = Callable[..., Answer]
"""A plugin's method, or a combining rule."""
ShowFunction = Callable[[Args, Answer], TracedCall]
"""Function from a call's (arguments, answer) to the recorded (subject, result)."""
HookFunctions = dict[str, dict[str, Call]]
"""Hook method → plugin name → function; of a plugin that is listed twice, the last instance's."""


class RecordedCall(NamedTuple):
    """A plugin's function, with everything needed to record its calls."""

    function: Call
    plugin: str
    point: str
    show: ShowFunction
    record: Record


class PluginCall(NamedTuple):
    """A plugin's function, as one entry of a tier."""

    plugin: str
    call: Call
    recorded: RecordedCall | None = None
    """The parts of a call that is recorded as an event; None if calls are not recorded."""


NoteHere = Callable[..., None]
"""Function that adds a note: code, text, and the values for the text's placeholders."""


class Tiers(list[list[PluginCall]]):
    """The plugins of a hook, tier by tier, for a whole session. `note` adds a quirk at the last answer. `calls` lists
    all functions in order, for rules without tiers. Without `restarts`, an empty intersection stays empty.
    """

    __slots__ = ("calls", "note", "restarts")

    def __init__(
        self, tiers: Iterable[list[PluginCall]] = (), note: NoteHere = lambda *_: None, *, restarts: bool = True
    ) -> None:
        super().__init__(tiers)
        self.note = note
        self.restarts = restarts
        self.calls = [plugin_call.call for tier in self for plugin_call in tier]


Decider = tuple[int | None, str | None]
"""The tier and the plugin that decided; the plugin is None if the tier decided as a whole."""
NO_DECIDER: Decider = (None, None)


class RecordedAnswer(NamedTuple):
    """One plugin's answer to a question, as recorded: tasks are given by key."""

    tier: int
    """Number of the tier, from 1."""
    position: int
    """Position among the tier's participating plugins, from 0."""
    plugin: str
    seq: Seq
    result: Answer
    vote: int | None


Answers = Sequence[RecordedAnswer]
"""The recorded answers to one question, in the order given."""


def last_answer(answers: Answers, tier: int) -> RecordedAnswer | None:
    """The last answer of a tier; None if the tier was not asked."""
    return next((answer for answer in reversed(answers) if answer.tier == tier), None)


class CombiningRule(ABC, Generic[R]):
    """How the answers of several plugins are combined, and how the combination is explained from a recording."""

    description: str = ""
    """The rule in words, for users."""
    answer_if_silent: ClassVar[Answer]
    """The combined answer if no plugin takes part or all abstain."""
    decided_by: ClassVar[Literal["plugin", "tier", ""]] = "plugin"
    """What decides an outcome other than `answer_if_silent`: one plugin or one tier; empty if every plugin is asked."""

    @staticmethod
    @abstractmethod
    def combine(tiers: Tiers, args: Args, /) -> R:
        """Ask the plugins that the rule needs and combine their answers. A static method, which hooks bind, so that a
        question costs only the call.
        """

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        """The tier and plugin that decided the outcome; `answers` must not be empty."""
        if not self.decided_by or outcome == self.answer_if_silent:
            return NO_DECIDER
        return answers[-1].tier, answers[-1].plugin if self.decided_by == "plugin" else None

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        """Why a plugin of this tier was not asked, in words; `answers` must not be empty."""
        return f"{(last_answer(answers, tier) or answers[-1]).plugin} answered first"

    def is_abstention(self, answer: RecordedAnswer) -> bool:
        """Whether the recorded answer is an abstention."""
        return False

    def restore_answer(self, result: Answer, vote: int | None, task_of: Callable[[TaskKey], Answer]) -> Answer:
        """Convert a recorded answer to the form that `combine` reads; `task_of` returns the task of a key."""
        return result


class _FirstDifference(CombiningRule[int]):
    """The first non-zero comparison result, else 0."""

    description = "the first difference decides"
    answer_if_silent = 0

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> int:
        for call in tiers.calls:
            answer = call(*args)
            if answer != 0:
                return int(answer)
        return 0


class _FirstFailure(CombiningRule[ValidateResult | None]):
    """The first answer that is a failure."""

    description = "the first failure decides"
    answer_if_silent = None

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> ValidateResult | None:
        for call in tiers.calls:
            answer: ValidateResult | None = call(*args)
            if answer is not None and not answer.passed:
                return answer
        return None

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        return f"{(last_answer(answers, tier) or answers[-1]).plugin} objected"

    def restore_answer(self, result: Answer, vote: int | None, task_of: Callable[[TaskKey], Answer]) -> Answer:
        return result if result is None else ValidateResult(result["pass"], result["reason"], result["message"])


class _AllTrue(CombiningRule[bool]):
    """AND over all tiers; stops at the first False."""

    description = "all must agree; the first no ends it"
    answer_if_silent = True

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> bool:
        for call in tiers.calls:  # noqa: SIM110 - a generator would take twice the time here
            if not call(*args):
                return False
        return True

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        last = last_answer(answers, tier) or answers[-1]
        return f"{last.plugin} said {'yes' if last.result else 'no'}"


class _AnyTrue(CombiningRule[bool]):
    """OR over all tiers; stops at the first True."""

    description = "one plugin's yes is enough"
    answer_if_silent = False

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> bool:
        for call in tiers.calls:  # noqa: SIM110 - as above
            if call(*args):
                return True
        return False

    explain_not_asked = _AllTrue.explain_not_asked


class _FirstTierAll(CombiningRule[bool]):
    """AND within the first tier that has a participant; later tiers are not asked."""

    description = "only the first tier with a voter is asked; all of it must agree"
    answer_if_silent = False

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> bool:
        for tier in tiers:
            for plugin_call in tier:
                if not plugin_call.call(*args):
                    return False
            if tier:
                return True
        return False

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        last = answers[-1]
        return last.tier, None if outcome else last.plugin

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        answer = last_answer(answers, tier)
        return f"{answer.plugin} said no" if answer else f"tier {answers[-1].tier} decides alone"


class _Vote(CombiningRule[bool]):
    """Votes: a reject decides at once; a tier with a permit decides before later tiers; all abstaining gives True."""

    description = "a reject ends it; a tier with a permit ends it; all abstaining passes"
    answer_if_silent = True

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> bool:
        for tier in tiers:
            permitted = False
            for plugin_call in tier:
                answer = plugin_call.call(*args)
                if answer < 0:
                    return False
                permitted = permitted or answer > 0
            if permitted:
                return True
        return True

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        last = answers[-1]
        if not outcome:
            return last.tier, last.plugin
        permitted = any(answer.result > 0 for answer in answers if answer.tier == last.tier)
        return (last.tier, None) if permitted else NO_DECIDER

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        last = last_answer(answers, tier) or answers[-1]
        return f"{last.plugin} rejected" if last.result < 0 else f"tier {last.tier} permitted"

    def is_abstention(self, answer: RecordedAnswer) -> bool:
        return bool(answer.result == ABSTAIN)


class _CallAll(CombiningRule[None]):
    """Call every plugin; there is no answer."""

    description = "every plugin is notified"
    answer_if_silent = None
    decided_by = ""

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> None:
        for call in tiers.calls:
            call(*args)


class _FirstAnswer(CombiningRule[Answer]):
    """The first participating plugin decides alone, even with an empty answer."""

    description = "the first participant decides"
    answer_if_silent = None

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> Answer:
        return tiers.calls[0](*args) if tiers.calls else None

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        return answers[-1].tier, answers[-1].plugin


class _FirstNotNone(CombiningRule[Answer]):
    """The first answer that is not None (an error, an objection or a node) decides."""

    answer_if_silent = None

    def __init__(self, words: str, ended_by: str) -> None:
        self.description = words
        self._ended_by = ended_by

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> Answer:
        for call in tiers.calls:
            answer = call(*args)
            if answer is not None:
                return answer
        return None

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        last = last_answer(answers, tier) or answers[-1]
        return f"{last.plugin} {'accepted' if last.result is None else self._ended_by}"


class _EachAnswer(CombiningRule[dict[str, Answer]]):
    """Answers by plugin; no combined answer."""

    description = "the scores are added"
    answer_if_silent: ClassVar[Answer] = {}
    decided_by = ""

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> dict[str, Answer]:
        return {plugin_call.plugin: plugin_call.call(*args) for tier in tiers for plugin_call in tier}


class _TierIntersection(CombiningRule[list[TaskInfo] | None]):
    """Intersection of victims within a tier; the first tier that ends with victims decides.

    An empty answer only ends its own tier, and a disjoint one lets the next plugin of the tier start over.
    """

    description = "the victims that all voters of a tier allow; the first tier with any decides"
    answer_if_silent = None
    decided_by = "tier"

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> list[TaskInfo] | None:
        vetoed, started = "", False
        for tier in tiers:
            victims: list[TaskInfo] | None = None
            disjoint = False
            for plugin_call in tier:
                answer: VictimAnswer = plugin_call.call(*args)
                candidates, code = answer
                if code == 0:
                    continue
                # Upstream sets its victims to nil here and breaks, so that the next tier starts over.
                if not candidates:
                    victims, vetoed = None, vetoed or plugin_call.plugin
                    break
                # nil also means that no plugin of the tier has answered: after an empty intersection upstream therefore
                # takes all candidates of the next plugin.
                if disjoint and victims is None and tiers.restarts:
                    tiers.note(
                        INTERSECTION_RESTARTED, "no victims were left in the tier; {} started over", plugin_call.plugin
                    )
                victims = candidates if victims is None and not started else _intersection(victims or [], candidates)
                disjoint, started = victims is None, not tiers.restarts
            if victims is not None:
                if vetoed:
                    tiers.note(
                        TIER_VETO_UNDONE, "{} allowed no candidate, and a later tier allows {}", vetoed, len(victims)
                    )
                return victims
        return None

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        if answer := last_answer(answers, tier):
            return f"{answer.plugin} allowed no candidate, which ends the tier"
        return f"tier {answers[-1].tier} decided"

    def is_abstention(self, answer: RecordedAnswer) -> bool:
        return answer.vote == ABSTAIN

    def restore_answer(self, result: Answer, vote: int | None, task_of: Callable[[TaskKey], Answer]) -> Answer:
        return [task_of(key) for key in result], vote


def _intersection(victims: list[TaskInfo], candidates: list[TaskInfo]) -> list[TaskInfo] | None:
    """Victims whose UID is also among the candidates, once per equal pair, in the order of `victims`; None if empty."""
    matches: dict[str, int] = {}
    for task in candidates:
        matches[task.uid] = matches.get(task.uid, 0) + 1
    # Each pair of equal UIDs counts, as in upstream's two nested loops.
    common = [victim for victim in victims for _ in range(matches.get(victim.uid, 0))]
    return common or None


class _FirstUnion(CombiningRule[list[TaskInfo]]):
    """Union of the tasks of all plugins in the first tier that returns any; each task object once."""

    description = "the first tier that names a pod decides"
    answer_if_silent: ClassVar[Answer] = []
    decided_by = "tier"

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> list[TaskInfo]:
        for tier in tiers:
            union: dict[int, TaskInfo] = {}
            for plugin_call in tier:
                union.update((id(task), task) for task in plugin_call.call(*args))
            if union:
                return list(union.values())
        return []

    def restore_answer(self, result: Answer, vote: int | None, task_of: Callable[[TaskKey], Answer]) -> Answer:
        return [task_of(key) for key in result]


FIRST_DIFFERENCE = _FirstDifference()
FIRST_FAILURE = _FirstFailure()
ALL_TRUE = _AllTrue()
ANY_TRUE = _AnyTrue()
FIRST_TIER_ALL = _FirstTierAll()
VOTE = _Vote()
CALL_ALL = _CallAll()
FIRST_ANSWER = _FirstAnswer()
FIRST_NODE = _FirstNotNone("the first answer decides", "answered first")
FIRST_ERROR = _FirstNotNone("the first error ends it", "objected")
FIRST_OBJECTION = _FirstNotNone("the first objection ends it", "objected")
EACH_ANSWER = _EachAnswer()
TIER_INTERSECTION = _TierIntersection()
FIRST_UNION = _FirstUnion()
