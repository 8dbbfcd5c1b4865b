"""The remaining time of work is shown as soon as it is more than a guess."""

from vcdebug.amount_text import TimeEstimate


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_rest_takes_as_long_as_what_is_done_took() -> None:
    clock = Clock()
    estimate = TimeEstimate(clock)
    assert "" == estimate.time_left("allocate", 0, 100)
    clock.now += 10
    assert ", about 30s left" == estimate.time_left("allocate", 25, 100)
    clock.now += 10
    assert ", about 20s left" == estimate.time_left("allocate", 50, 100)
    assert "" == estimate.time_left("allocate", 100, 100)


def test_no_estimate_in_the_first_second_or_before_a_twentieth() -> None:
    clock = Clock()
    estimate = TimeEstimate(clock)
    estimate.time_left("reading", 0, 1000)
    clock.now += 0.5
    assert "" == estimate.time_left("reading", 500, 1000)
    clock.now += 10
    assert "" == estimate.time_left("replaying", 1, 1000)
    clock.now += 10
    assert "" == estimate.time_left("replaying", 40, 1000)
    assert ", about 2m left" == estimate.time_left("replaying", 60, 1000)


def test_other_work_is_estimated_anew_and_without_a_total_nothing_is() -> None:
    clock = Clock()
    estimate = TimeEstimate(clock)
    estimate.time_left("one", 0, 10)
    clock.now += 5
    assert ", about 5s left" == estimate.time_left("one", 5, 10)
    assert "" == estimate.time_left("other", 5, 10)
    clock.now += 5
    assert "" == estimate.time_left("other", 7, 0)


def test_the_rest_stands_behind_the_count_that_it_is_drawn_from() -> None:
    clock = Clock()
    estimate = TimeEstimate(clock)
    assert "11 events" == estimate.with_time_left("11 events", 0, 0)
    assert "allocate, job 0 of about 40, 12 events" == estimate.with_time_left(
        "allocate, job 0 of about 40, 12 events", 0, 40
    )
    clock.now += 10
    words = estimate.with_time_left("allocate, job 10 of about 40, 99 events", 10, 40)
    assert "allocate, job 10 of about 40, about 30s left, 99 events" == words
