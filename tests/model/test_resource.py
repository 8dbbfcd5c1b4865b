"""Amounts: conversion, tolerance, and where a missing dimension differs from a zero one."""

from copy import deepcopy
from math import inf
from random import Random

import pytest

from vcdebug.errors import SchedulerPanic
from vcdebug.model.queue import exceeded_part, share_of
from vcdebug.model.resource import INFINITY, MAX_FLOAT64, ZERO, Resource, is_scalar_resource_name, resource_max

GPU = "nvidia.com/gpu"


def of(cpu: float = 0.0, memory: float = 0.0, **scalars: float) -> Resource:
    return Resource(cpu, memory, dict(scalars) if scalars else None)


def test_a_list_becomes_milli_cores_bytes_milli_units_and_whole_pods() -> None:
    resource = Resource.from_list(
        {"cpu": "1500m", "memory": "1Ki", "pods": "110", GPU: "2", "ephemeral-storage": "1Ki", "hugepages-2Mi": "4Mi"}
    )
    assert (1500.0, 1024.0, 110) == (resource.milli_cpu, resource.memory, resource.max_task_num)
    assert {"pods": 110.0, GPU: 2000.0, "ephemeral-storage": 1024000.0, "hugepages-2Mi": 4194304000.0} == (
        resource.scalars
    )


def test_names_that_are_no_resource_are_dropped() -> None:
    dropped = {"requests.nvidia.com/gpu": "1", "count/pods": "1", "storage": "1", "limits.cpu": "1", "bare": "1"}
    assert Resource.from_list(dropped).scalars is None
    assert is_scalar_resource_name("deviceclass/gpu")
    assert not is_scalar_resource_name("example.com/" + "x" * 64)


@pytest.mark.parametrize(("cpu", "fits"), [(1000.09, True), (1000.1, False), (999.0, True)])
def test_less_equal_has_a_tolerance_of_a_tenth(cpu: float, fits: bool) -> None:
    assert fits is of(cpu).less_equal(of(1000.0))


def test_a_dimension_only_on_the_right_matters_to_infinity_and_to_partly() -> None:
    assert not of().less_equal(of(gpu=0.0), INFINITY)
    assert (True, []) == of().less_equal_with_resources_name(of(gpu=0.0))
    assert of().less_partly(of(gpu=0.0))
    assert of().equal(of(gpu=5.0))
    assert not of(gpu=5.0).equal(of())


def test_subtracting_from_a_nil_map_ignores_scalars_and_from_a_map_creates_them() -> None:
    assert of(5.0).scalars == of(10.0).sub(of(5.0, gpu=0.05)).scalars
    held = Resource(10.0, 0.0, {})
    held.sub_without_assert(of(0.0, gpu=3.0))
    assert {"gpu": -3.0} == held.scalars


def test_an_insufficient_subtraction_panics_with_upstreams_message() -> None:
    with pytest.raises(SchedulerPanic) as panic:
        of(0.0, 0.0).sub(of(500.0, 6442450944.0))
    text = "resource is not sufficient to do operation: <cpu 0.00, memory 0.00> sub <cpu 500.00, memory 6442450944.00>"
    assert text == panic.value.message


def test_diff_has_both_sides_and_takes_minus_one_for_infinity() -> None:
    inc, dec = of(3.0, a=5.0, b=1.0).diff(of(3.0, b=1.0))
    assert ({"a": 5.0}, {"b": 0.0}) == (inc.scalars, dec.scalars)
    inc, dec = of(a=-1.0).diff(of(b=-1.0))
    assert ({"a": -1.0}, {"b": -1.0}) == (inc.scalars, dec.scalars)


def test_exceeded_part_omits_dimensions_without_excess() -> None:
    part = exceeded_part(of(5.0, 1.0, a=1.0, b=3.0), of(2.0, 4.0, a=1.0, b=1.0))
    assert (3.0, 0.0, {"b": 2.0}) == (part.milli_cpu, part.memory, part.scalars)


def test_minimum_in_place_never_adds_dimensions() -> None:
    left = of(5.0, 5.0, a=5.0, b=5.0)
    assert {"a": 1.0, "b": 0.0} == left.clone().min_dimension_resource(of(9.0, 9.0, a=1.0, c=1.0), ZERO).scalars
    assert {"a": 1.0, "b": 5.0} == left.clone().min_dimension_resource(of(9.0, 9.0, a=1.0, c=1.0), INFINITY).scalars


def test_maximum_drops_negative_scalars() -> None:
    assert {"b": 2.0} == resource_max(of(a=-1.0, b=2.0), of(b=1.0)).scalars


def test_dimension_aware_comparison_is_strict_and_skips_pods() -> None:
    request = of(1.0, 0.0, pods=1.0)
    assert (False, ["cpu"]) == of(10.05, 9.0, pods=9.0).less_equal_with_dimension_and_resources_name(of(10.0), request)
    assert (True, []) == of(10.0, 9.0, pods=9.0).less_equal_with_dimension_and_resources_name(of(10.0), request)


def test_is_empty_ignores_pods_and_names_do_not() -> None:
    assert of(pods=1.0).is_empty()
    assert ["pods"] == of(pods=1.0).resource_names()


def test_text_sorts_scalars_and_names_the_largest_numbers() -> None:
    assert "cpu 1.00, memory 2.00, a 1.00, b 2.50" == str(of(1.0, 2.0, b=2.5, a=1.0))
    assert "cpu maxFloat, memory maxInt" == str(of(MAX_FLOAT64, float(2**63 - 1)))


@pytest.mark.parametrize(("part", "whole", "expected"), [(0, 0, 0.0), (1, 0, 1.0), (1, 4, 0.25)])
def test_share_of_zero_amounts(part: float, whole: float, expected: float) -> None:
    assert expected == share_of(part, whole)


def test_taking_off_asserts_what_less_equal_says_and_leaves_what_it_leaves() -> None:
    draw = Random(1)
    amounts = [0.0, 0.05, 0.1, 0.30000000000000004, 1.0, -0.05, -0.1, -1.0, MAX_FLOAT64, inf]

    def drawn() -> tuple[float, float, dict[str, float] | None]:
        names = [name for name in ("gpu", "pods", "x") if draw.random() < 0.6]
        scalars = None if draw.random() < 0.2 else {name: draw.choice(amounts) for name in names}
        return draw.choice(amounts), draw.choice(amounts), scalars

    outcomes: dict[bool, int] = {True: 0, False: 0}
    for _ in range(3_000):
        held, taken = drawn(), drawn()
        amount, one, other = Resource(*taken), Resource(*deepcopy(held)), Resource(*deepcopy(held))
        fits = amount.less_equal(one)
        outcomes[fits] += 1
        if fits:
            assert str(other.sub_without_assert(amount)) == str(one.sub(amount))
            assert (one.milli_cpu, one.memory, one.scalars) == (other.milli_cpu, other.memory, other.scalars)
        else:
            with pytest.raises(SchedulerPanic):
                one.sub(amount)
            assert (one.milli_cpu, one.memory, one.scalars) == held
    assert min(outcomes.values()) > 100


def test_a_renewal_that_fails_has_written_nothing() -> None:
    held = of(1.0, 2.0, a=1.0)
    with pytest.raises(SchedulerPanic, match=r"<cpu 1\.00, memory 2\.00, a 1\.00> sub <"):
        held.sub_then_add(of(1.0, 2.0, a=1.0, b=0.0, c=1.0))
    assert {"a": 1.0} == held.scalars


@pytest.mark.parametrize("scalars", [None, {}, {"pods": 3.0}, {"nvidia.com/gpu": 0.3, "pods": 1.0}])
@pytest.mark.parametrize("given", [None, {}, {"pods": 1.0}, {"nvidia.com/gpu": 0.05}])
def test_renewing_is_subtracting_and_adding_to_the_last_bit(
    scalars: dict[str, float] | None, given: dict[str, float] | None
) -> None:
    amount = Resource(0.1 + 0.2, 1e16, given)
    renewed, one_by_one = (Resource(0.7, 1e16 + 2, None if scalars is None else dict(scalars)) for _ in range(2))
    if not amount.less_equal(renewed):
        with pytest.raises(SchedulerPanic):
            renewed.sub_then_add(amount)
        return
    renewed.sub_then_add(amount)
    one_by_one.sub(amount).add(amount)
    assert (renewed.milli_cpu, renewed.memory, renewed.scalars) == (
        one_by_one.milli_cpu,
        one_by_one.memory,
        one_by_one.scalars,
    )
