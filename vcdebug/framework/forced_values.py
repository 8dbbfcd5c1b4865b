"""Forced answers read: words of a person into what a plugin gives.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vcdebug.framework.combine import Answer, Args
from vcdebug.framework.hooks import AnswerForm
from vcdebug.framework.plugin import ABSTAIN, PERMIT, REJECT, PluginError, ValidateResult, VictimAnswer
from vcdebug.model.fiterror import UNSCHEDULABLE, FitStatus
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.answers import ForcedAnswer

YES, NO = ("yes", "true", "permit", "pass", "1"), ("no", "false", "reject", "fail", "-1")
_ABSTAIN_WORDS: Final = ("abstain", "0")
NOBODY, NONE = "nobody", "none"
OFFER, ORDER = "offer", "order"
DEFAULT_REASON: Final = "forced"
"""What a refusal says where nobody gave a reason."""

AnswerReader = Callable[[ForcedAnswer, Args], Answer]


def forced_value(gives: AnswerForm, answer: ForcedAnswer, args: Args) -> Answer:
    """The answer in the form in which a plugin gives it; raises EditError for one that the hook cannot give."""
    read = ANSWER_READERS.get(gives)
    if read is None:
        raise answer.make_error(f"{answer.plugin or 'the plugin'} is only told there: it answers nothing")
    return read(answer, args)


def choice_text(gives: AnswerForm) -> str:
    """What can be forced, in words; empty where nothing can."""
    return CHOICE_TEXTS.get(gives, "")


def _read_truth(answer: ForcedAnswer, _: Args) -> bool:
    word = answer.value.lower()
    if word not in (*YES, *NO):
        raise answer.make_error(f"{answer.value!r} is no answer to this hook", "yes or no")
    return word in YES


def _read_vote(answer: ForcedAnswer, _: Args) -> int:
    word = answer.value.lower()
    if word not in (*YES, *NO, *_ABSTAIN_WORDS):
        raise answer.make_error(f"{answer.value!r} is no vote", "permit, reject or abstain")
    return ABSTAIN if word in _ABSTAIN_WORDS else PERMIT if word in YES else REJECT


def _read_victims(answer: ForcedAnswer, args: Args) -> VictimAnswer:
    """Candidates by name, all of them (yes), nobody (no), or no vote at all."""
    if answer.value.lower() in _ABSTAIN_WORDS:
        return [], ABSTAIN
    return _read_tasks(answer, args[1]), PERMIT


def _read_named_tasks(answer: ForcedAnswer, args: Args) -> list[TaskInfo]:
    return _read_tasks(answer, args[0])


def _read_tasks(answer: ForcedAnswer, candidates: Sequence[TaskInfo]) -> list[TaskInfo]:
    words = answer.value.replace(",", " ").split()
    words = words[1:] if words and words[0].lower() == OFFER else words
    if not words or words == [NOBODY]:
        return []
    if len(words) == 1 and words[0].lower() in (*YES, *NO) and words[0] not in [task.name for task in candidates]:
        return list(candidates) if words[0].lower() in YES else []
    return [_find_candidate(answer, word, candidates) for word in words]


def _find_candidate(answer: ForcedAnswer, word: str, candidates: Sequence[TaskInfo]) -> TaskInfo:
    found = [task for task in candidates if word in (task.key, task.name)]
    if len(found) == 1:
        return found[0]
    names = [task.key for task in candidates]
    if found:
        raise answer.make_error(f"several candidates are called {word}", f"they are {', '.join(t.key for t in found)}")
    from difflib import get_close_matches

    close = get_close_matches(word, [*names, *(task.name for task in candidates)], 1)
    hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(names) or 'none'}"
    raise answer.make_error(f"{word} is no candidate there", hint)


def _read_refusal(answer: ForcedAnswer) -> str | None:
    """The reason of a no; None for a yes."""
    word, _, reason = answer.value.partition(" ")
    if word.lower() not in (*YES, *NO):
        raise answer.make_error(f"{answer.value!r} is no answer to this hook", "yes, or no and a reason")
    return None if word.lower() in YES else reason.strip() or DEFAULT_REASON


def _read_validity(answer: ForcedAnswer, _: Args) -> ValidateResult | None:
    reason = _read_refusal(answer)
    return None if reason is None else ValidateResult(False, reason, reason)


def _read_plugin_error(answer: ForcedAnswer, _: Args) -> PluginError | None:
    reason = _read_refusal(answer)
    return None if reason is None else PluginError(reason)


def _read_text(answer: ForcedAnswer, _: Args) -> str | None:
    return _read_refusal(answer)


def _read_node(answer: ForcedAnswer, args: Args) -> Answer:
    """BestNode: one of the nodes asked about, or no opinion."""
    if answer.value.lower() == NONE:
        return None
    nodes = args[1].nodes
    found = next((node for node in nodes if node.name == answer.value), None)
    if found is None:
        raise answer.make_error(f"{answer.value} is no node there", f"there are {', '.join(n.name for n in nodes[:8])}")
    return found


def _read_rows(answer: ForcedAnswer, args: Args) -> list[list[str]]:
    """Gradients: `order a b, c`, rows of hypernodes from the best one on."""
    words = answer.value.removeprefix(ORDER).strip()
    return [] if words == NONE else [row.split() for row in words.split(",") if row.strip()]


def _read_verdict(answer: ForcedAnswer, _: Args) -> tuple[FitStatus, ...]:
    """A predicate's statuses for one node."""
    reason = _read_refusal(answer)
    return () if reason is None else (FitStatus(UNSCHEDULABLE, reason, answer.plugin),)


def _read_scores(answer: ForcedAnswer, _: Args) -> dict[str, float]:
    """Scores of hypernodes."""
    if answer.value.lower() == NONE:
        return {}
    return {
        name: _read_score(answer, number) for name, _, number in (word.partition("=") for word in answer.value.split())
    }


def _read_score(answer: ForcedAnswer, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise answer.make_error(f"{number!r} is no score", "write HYPERNODE=SCORE") from None


ANSWER_READERS: Final[Mapping[AnswerForm, AnswerReader]] = {
    "truth": _read_truth,
    "vote": _read_vote,
    "victims": _read_victims,
    "tasks": _read_named_tasks,
    "validity": _read_validity,
    "error": _read_plugin_error,
    "objection": _read_text,
    "verdict": _read_verdict,
    "node": _read_node,
    "rows": _read_rows,
    "scores": _read_scores,
}
"""How the answer to a hook is read, by what it gives; a hook that only tells has no answer."""

_REASONED_CHOICE: Final = "yes, or no and a reason"
CHOICE_TEXTS: Final[Mapping[AnswerForm, str]] = {
    "truth": "yes or no",
    "vote": "permit, reject or abstain",
    "victims": "offer and candidates, yes for all, no for nobody, or abstain",
    "tasks": "offer and tasks, yes for all, or no for nobody",
    "validity": _REASONED_CHOICE,
    "error": _REASONED_CHOICE,
    "objection": _REASONED_CHOICE,
    "verdict": _REASONED_CHOICE,
    "node": "a node, or none",
    "rows": "order and hypernodes, rows divided by commas, or none",
    "scores": "HYPERNODE=SCORE, or none",
}
"""What can be forced, in words."""
