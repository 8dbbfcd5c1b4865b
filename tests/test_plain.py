"""Classes of plain data are what the standard library makes of them."""

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, replace
from typing import Any, get_type_hints

import pytest

from vcdebug.plain import NamedTuple, dataclass, lazy_dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A value."""

    name: str
    size: int = 3
    tags: dict[str, int] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Room(Place):
    """One that is more."""

    floor: int = 0


@dataclass(slots=True)
class Counter:
    """A state."""

    count: int = 0
    seen: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Same:
    """Equal to itself alone."""

    count: int = 0


@dataclass
class Doubled:
    """Works something out."""

    count: int

    def __post_init__(self) -> None:
        self.double = 2 * self.count


class Stated:
    """What both make a class of."""

    a: int
    b: tuple[str, ...] = ()
    c: Any = field(default_factory=list, repr=False)
    d: str = field(default="d", compare=False)
    e: frozenset[str] = field(default=frozenset(), hash=False)


OPTIONS = [
    {"frozen": frozen, "slots": slots, "eq": eq}
    for frozen in (False, True)
    for slots in (False, True)
    for eq in (False, True)
]


def twins(options: dict[str, Any]) -> tuple[Any, Any]:
    """The class as we make it, and as the standard library does."""

    def bare() -> type:
        return type("Stated", (), {**Stated.__dict__, "__annotations__": dict(Stated.__annotations__)})

    made: Any = lazy_dataclass(**options)
    bodies = [bare(), bare()]
    return made(bodies[0]), dataclasses.dataclass(**options)(bodies[1])


def outcome(ask: Any, cls: Any) -> Any:
    """What comes of asking: an answer, or the sort of error."""
    try:
        return ask(cls)
    except (TypeError, AttributeError) as error:
        return type(error)


def answers(cls: Any) -> dict[str, Any]:
    return {name: outcome(ask, cls) for name, ask in QUESTIONS.items()}


QUESTIONS = {
    "repr": lambda cls: repr(cls(1, b=("x",), e=frozenset("y"))),
    "defaults": lambda cls: dataclasses.asdict(cls(1)),
    "own lists": lambda cls: cls(1).c is cls(1).c,
    "equal": lambda cls: cls(1, d="d") == cls(1, d="other"),
    "not equal": lambda cls: cls(1) == cls(2),
    "another class": lambda cls: cls(1) == 1,
    "hash": lambda cls: len({cls(1, c=()), cls(1, c=(), d="other"), cls(1, c=(), b=("x",))}),
    "no hash of a list": lambda cls: hash(cls(1)) and 0,
    "replace": lambda cls: dataclasses.asdict(replace(cls(1), a=5)),
    "too few": lambda cls: cls(),
    "too many": lambda cls: cls(1, 2, 3, 4, 5, 6),
    "unknown": lambda cls: cls(1, z=2),
    "assign": lambda cls: setattr(cls(1), "a", 2),
    "delete": lambda cls: delattr(cls(1), "a"),
    "match": lambda cls: cls.__match_args__,
    "copy": lambda cls: dataclasses.asdict(copy.deepcopy(cls(1, c=[2]))),
}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_class_answers_as_the_one_of_the_standard_library(options: dict[str, Any]) -> None:
    ours, theirs = twins(options)

    assert answers(theirs) == answers(ours)


def test_a_frozen_object_says_which_field_cannot_be_assigned() -> None:
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        Place("a").size = 4  # type: ignore[misc]


def test_a_class_takes_the_fields_of_the_one_below_it_first() -> None:
    assert Room("a", 1, {}, 2) == Room("a", 1, floor=2)
    assert Room("a") != Place("a")


def test_a_value_goes_to_another_process_and_back() -> None:
    room = Room("a", 1, {"b": 2}, 3)

    assert room == pickle.loads(pickle.dumps(room))


def test_a_state_can_be_changed_and_has_no_hash() -> None:
    counter = Counter()
    counter.seen.append(1)

    assert Counter(0, [1]) == counter
    with pytest.raises(TypeError):
        hash(counter)


def test_one_without_equality_is_equal_to_itself_alone() -> None:
    same = Same()

    assert (True, False) == (same == same, same == Same())
    assert {same: 1}[same] == 1


def test_what_a_class_works_out_of_its_fields_is_there() -> None:
    assert Doubled(2).double == 4


def test_a_method_is_written_when_it_is_first_used() -> None:
    ours, _ = twins({"frozen": True, "slots": True})
    unwritten = ours.__init__
    ours(1)

    assert ours.__init__ is not unwritten


class Amount(NamedTuple):
    """A figure of a resource."""

    name: str
    value: "float | Place" = 0.0

    @property
    def shown(self) -> str:
        """As text."""
        return f"{self.name}={self.value}"


def test_a_named_tuple_has_fields_defaults_and_what_its_body_says() -> None:
    cpu = Amount("cpu", value=2.0)

    assert ["cpu", 2.0] == list(cpu)
    assert "cpu=2.0" == cpu.shown
    assert Amount("cpu") == cpu._replace(value=0.0)
    assert "Amount(name='cpu', value=2.0)" == repr(cpu)
    assert ("name", "value") == Amount._fields == Amount.__match_args__
    assert {"value": 0.0} == Amount._field_defaults
    assert (__name__, "Amount", "A figure of a resource.") == (Amount.__module__, Amount.__qualname__, Amount.__doc__)
    assert {"name": str, "value": float | Place} == get_type_hints(Amount)
    assert cpu == pickle.loads(pickle.dumps(cpu))


def test_a_named_tuple_cannot_be_assigned_to_and_asks_for_what_has_no_default() -> None:
    with pytest.raises(AttributeError):
        Amount("cpu").name = "memory"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Amount()  # type: ignore[call-arg]
