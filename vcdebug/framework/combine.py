"""How the answers of several plugins become one: an object per rule, not per extension point.

A new rule is a class with `combine`, `silence` and `words`, and one line that makes its object.

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
"""A plugin's method, or a rule."""
ShowFunction = Callable[[Args, Answer], TracedCall]
"""(arguments, answer) → (subject, result)."""
HookFunctions = dict[tuple[str, str], Call]
"""(hook method, plugin name) → function: a plugin listed twice keeps the later instance's."""


class RecordedCall(NamedTuple):
    """A plugin's function with what it takes to record its calls."""

    function: Call
    plugin: str
    point: str
    show: ShowFunction
    record: Record


class PluginCall(NamedTuple):
    """One plugin's function at its place in the configuration."""

    plugin: str
    call: Call
    recorded: RecordedCall | None = None
    """What the call is made up of, where it leaves events."""


NoteHere = Callable[..., None]
"""Code, text, and what fills the blanks of the text."""


class Tiers(list[list[PluginCall]]):
    """The plugins of a hook, tier by tier, for a whole session. `note` adds a quirk to the last answer; `calls` are all
    functions in order, for rules without tiers; without `restarts` victims that were lost stay lost.
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
"""The tier and the plugin that decided; without plugin where a tier decided as a whole."""
NO_DECIDER: Decider = (None, None)


class RecordedAnswer(NamedTuple):
    """What one plugin answered to a question, as a recording keeps it: tasks by their keys."""

    tier: int
    """From 1."""
    place: int
    """Among the plugins of the tier that take part, from 0."""
    plugin: str
    seq: Seq
    result: Answer
    vote: int | None


Answers = Sequence[RecordedAnswer]
"""The recorded answers to one question, in the order in which they were given."""


def last_answer(answers: Answers, tier: int) -> RecordedAnswer | None:
    """The last one that a tier gave; None where the tier was not asked."""
    return next((answer for answer in reversed(answers) if answer.tier == tier), None)


class CombiningRule(ABC, Generic[R]):
    """How the answers of several plugins become one, and how that is explained from a recording."""

    words: str = ""
    """The rule in words."""
    silence: ClassVar[Answer]
    """The combined answer where no plugin takes part, or all abstain."""
    decided_by: ClassVar[Literal["plugin", "tier", ""]] = "plugin"
    """What ends the question by an outcome other than silence; empty where each plugin is asked."""

    @staticmethod
    @abstractmethod
    def combine(tiers: Tiers, args: Args, /) -> R:
        """Ask the plugins as far as the rule needs them. A hook binds this function, so that a question costs no more
        than the call.
        """

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        """The tier and plugin after which no other needed to be asked; `answers` has at least one."""
        if not self.decided_by or outcome == self.silence:
            return NO_DECIDER
        return answers[-1].tier, answers[-1].plugin if self.decided_by == "plugin" else None

    def explain_not_asked(self, tier: int, answers: Answers) -> str:
        """Why a plugin of this tier was not asked; `answers` has at least one."""
        return f"{(last_answer(answers, tier) or answers[-1]).plugin} answered first"

    def is_abstention(self, answer: RecordedAnswer) -> bool:
        """Whether the plugin left the decision to the others."""
        return False

    def restore_answer(self, result: Answer, vote: int | None, task_of: Callable[[TaskKey], Answer]) -> Answer:
        """A recorded answer in the form in which `combine` takes it; `task_of` makes a task of its key."""
        return result


class _FirstDifference(CombiningRule[int]):
    """The first non-zero comparison, else 0."""

    words = "the first difference decides"
    silence = 0

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> int:
        for call in tiers.calls:
            answer = call(*args)
            if answer != 0:
                return int(answer)
        return 0


class _FirstFailure(CombiningRule[ValidateResult | None]):
    """The first answer that does not pass."""

    words = "the first failure decides"
    silence = None

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
    """AND over all tiers, stopping at the first False."""

    words = "all must agree; the first no ends it"
    silence = True

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
    """OR over all tiers, stopping at the first True."""

    words = "one yes is enough"
    silence = False

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> bool:
        for call in tiers.calls:  # noqa: SIM110 - as above
            if call(*args):
                return True
        return False

    explain_not_asked = _AllTrue.explain_not_asked


class _FirstTierAll(CombiningRule[bool]):
    """AND inside the first tier with a participant."""

    words = "only the first tier with a voter is asked; all of it must agree"
    silence = False

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
    """A rejection ends it; a tier with a permit passes without asking later ones; all abstaining passes."""

    words = "a reject ends it; a tier with a permit ends it; all abstaining passes"
    silence = True

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
    """Each plugin is called; none answers."""

    words = "every plugin is notified"
    silence = None
    decided_by = ""

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> None:
        for call in tiers.calls:
            call(*args)


class _FirstAnswer(CombiningRule[Answer]):
    """The first participant decides alone, even with an empty answer."""

    words = "the first participant decides"
    silence = None

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> Answer:
        return tiers.calls[0](*args) if tiers.calls else None

    def find_decider(self, answers: Answers, outcome: Answer) -> Decider:
        return answers[-1].tier, answers[-1].plugin


class _FirstNotNone(CombiningRule[Answer]):
    """The first answer that is not None: an error, an objection or a node."""

    silence = None

    def __init__(self, words: str, ended_by: str) -> None:
        self.words = words
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
    """plugin → answer."""

    silence: ClassVar[Answer] = {}
    decided_by = ""

    @staticmethod
    def combine(tiers: Tiers, args: Args, /) -> dict[str, Answer]:
        return {plugin_call.plugin: plugin_call.call(*args) for tier in tiers for plugin_call in tier}


class _TierIntersection(CombiningRule[list[TaskInfo] | None]):
    """The first tier that ends with victims decides.

    An empty answer only ends its own tier, and a disjoint one lets the next plugin of the tier start over.
    """

    words = "the victims that all voters of a tier allow; the first tier with any decides"
    silence = None
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
                # nil also means that no plugin of the tier has answered: after a disjoint answer upstream takes all
                # candidates of the next plugin.
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
    """Once per equal UID, in the order of `victims`; nothing left is None."""
    matches: dict[str, int] = {}
    for task in candidates:
        matches[task.uid] = matches.get(task.uid, 0) + 1
    # Each pair of equal UIDs counts, as in upstream's two nested loops.
    common = [victim for victim in victims for _ in range(matches.get(victim.uid, 0))]
    return common or None


class _FirstUnion(CombiningRule[list[TaskInfo]]):
    """All tasks that the plugins of the first productive tier name, each object once."""

    words = "the first tier that names a pod decides"
    silence: ClassVar[Answer] = []
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

RULES: tuple[CombiningRule[Answer], ...] = tuple(
    value for value in globals().values() if isinstance(value, CombiningRule)
)
"""Every combining rule."""
