"""Natural order of names, compared with a definition that looks at one name at a time."""

import random
import re
from collections.abc import Callable, Sequence

import pytest

from tests.effort import at_most
from vcdebug.tui.widgets.row_order import natural_places, rank_texts

MANY = 100_000
Part = tuple[int, int, str]


def parts(text: str) -> list[Part]:
    """The words and numbers of a text as a sort key: the end comes first, then numbers, then letters."""
    found: list[Part] = []
    for number, letter in re.findall(r"([0-9]+)|([^0-9])", text.casefold()):
        found.append((0, int(number), "") if number else (1, 0, letter))
    return found


def expected(texts: Sequence[str]) -> list[int]:
    keys = [parts(text) for text in texts]
    ordered = sorted(keys)
    first: dict[tuple[Part, ...], int] = {}
    for place, key in enumerate(ordered):
        first.setdefault(tuple(key), place)
    return [first[tuple(key)] for key in keys]


def of_shapes(chance: random.Random) -> str:
    prefix = chance.choice(["default/job", "prod/job", "node", "Node", "gpu-pool.rack"])
    return f"{prefix}-{chance.randrange(130)}{chance.choice(['', '-worker', '-ps', '.x'])}-{chance.randrange(30)}"


def of_anything(chance: random.Random) -> str:
    letters = ["0", "0", "00", "1", "9", "10", "7" * 28, "7" * 29, "7" * 30, "7" * 70, *"aAbBß-/. éΩ漢😀"]
    return "".join(chance.choices(letters, k=chance.randrange(9)))


def padded(chance: random.Random) -> str:
    return f"{'node' * chance.randrange(6)}{chance.randrange(40):0{chance.randrange(1, 9)}}"


def words(chance: random.Random) -> str:
    return "".join(chance.choices("ab", k=chance.randrange(20)))


@pytest.mark.parametrize("make", [of_shapes, of_anything, padded, words])
def test_random_texts_have_the_places_that_looking_at_each_by_itself_gives(
    make: Callable[[random.Random], str],
) -> None:
    for seed in range(150):
        chance = random.Random(seed)
        texts = [make(chance) for _ in range(chance.choice([1, 2, 5, 60]))]
        assert expected(texts) == natural_places(texts).tolist(), texts


def test_no_texts_have_no_places_and_empty_ones_come_first() -> None:
    assert [] == natural_places([]).tolist()
    assert [0] == natural_places([""]).tolist()
    assert [2, 0, 0, 3] == natural_places(["1", "", "", "a"]).tolist()


def test_control_characters_count_as_spaces_and_split_nothing() -> None:
    texts = ["a\x1fb", "a\x01b", "a b", "a\x1fa", "a0"]
    assert [2, 2, 2, 1, 0] == natural_places(texts).tolist()


def test_figures_of_one_size_are_in_the_order_of_what_stands_behind_them() -> None:
    texts = ["2/10", "2/9", "1k", "1 000", "1000/4", "-3", "+2/9", "2.5", "0.5 b2", "500m b10", "0.5 B2"]
    order = rank_texts(texts).order_rows(range(len(texts)), descending=False)
    assert ["-3", "0.5 b2", "0.5 B2", "500m b10", "2/9", "+2/9", "2/10", "2.5", "1k", "1 000", "1000/4"] == [
        texts[index] for index in order
    ]


@pytest.mark.parametrize(
    "name",
    [
        lambda i: f"node-{i}",
        lambda i: f"node-{i:06}",
        lambda i: f"default/job-{i // 100}-worker-{i % 100}",
        lambda i: f"web-{i * 2654435761 % 2**32:x}-{i % 97}",
    ],
)
def test_a_column_of_a_hundred_thousand_names_is_compared_in_a_moment(name: Callable[[int], str]) -> None:
    numbers = random.Random(1).sample(range(MANY), MANY)
    names = [name(number) for number in numbers]
    with at_most(0.6):
        rank_texts(names)
