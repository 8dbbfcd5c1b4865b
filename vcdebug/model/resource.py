"""Resource: amounts with upstream's arithmetic, its tolerances, and its distinction of a nil from an empty scalar map.

Upstream: api/resource_info.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from vcdebug.errors import SchedulerPanic
from vcdebug.model.resource_list import CPU as CPU
from vcdebug.model.resource_list import MEMORY as MEMORY
from vcdebug.model.resource_list import PODS as PODS
from vcdebug.model.resource_list import is_scalar_resource_name as is_scalar_resource_name
from vcdebug.model.resource_list import parse_amounts

MIN_RESOURCE = 0.1
"""Upstream's tolerance: amounts closer than this count as equal, smaller ones as 0."""
SMALLEST_AMOUNT = 5e-324
"""The least float above 0."""
_MINUS_MIN = -MIN_RESOURCE
_MAX_EXACT_INT = 2.0**52
MAX_FLOAT64 = 1.7976931348623157e308
MAX_INT64 = 9223372036854775807

DefaultValue = Literal["zero", "infinity"]
ZERO: DefaultValue = "zero"
"""A dimension missing on the other side counts as 0."""
INFINITY: DefaultValue = "infinity"
"""A dimension missing on the other side is unlimited."""


def at_most(left: float, right: float) -> bool:
    """Whether left <= right, with the tolerance."""
    return right - left > -MIN_RESOURCE


_new = object.__new__
_NO_SCALARS: Mapping[str, float] = {}


class Resource:
    """Amounts per dimension: cpu in milli-cores, memory in bytes, scalars in milli-units (`pods` in units).

    `scalars` is None where upstream's map is nil; several operations treat nil and empty differently.
    """

    __slots__ = ("max_task_num", "memory", "milli_cpu", "scalars")

    def __init__(
        self,
        milli_cpu: float = 0.0,
        memory: float = 0.0,
        scalars: dict[str, float] | None = None,
        max_task_num: int = 0,
    ) -> None:
        self.milli_cpu = milli_cpu
        self.memory = memory
        self.scalars = scalars
        self.max_task_num = max_task_num

    @classmethod
    def from_list(cls, resource_list: Mapping[str, object] | None) -> Resource:
        """A Kubernetes ResourceList, without names unknown to Volcano. Upstream: api/resource_info.NewResource."""
        if not resource_list:
            return cls()
        milli_cpu, memory, scalars, max_task_num = parse_amounts(resource_list)
        return cls(milli_cpu, memory, None if scalars is None else scalars.copy(), max_task_num)

    @classmethod
    def infinite_resource(cls) -> Resource:
        """Every amount as large as it gets, no scalars. Upstream: api/resource_info.InfiniteResource."""
        return cls(MAX_FLOAT64, MAX_FLOAT64, None, MAX_INT64)

    def clone(self) -> Resource:
        """A deep copy; a nil scalar map stays nil. Upstream: api/resource_info.Clone."""
        scalars = self.scalars
        copy = _new(Resource)
        copy.milli_cpu = self.milli_cpu
        copy.memory = self.memory
        copy.scalars = None if scalars is None else scalars.copy()
        copy.max_task_num = self.max_task_num
        return copy

    def copy_unless(self, shared: Resource) -> Resource:
        """`shared` if it is exactly equal, else a copy: equal amounts of nodes and records share one object."""
        # Not deep_equal: a nil and an empty scalar map behave differently later on.
        if (
            self.milli_cpu == shared.milli_cpu
            and self.memory == shared.memory
            and self.scalars == shared.scalars
            and self.max_task_num == shared.max_task_num
        ):
            return shared
        return self.clone()

    def get(self, name: str) -> float:
        """The amount of one dimension, 0 when missing. Upstream: api/resource_info.Get."""
        if name == CPU:
            return self.milli_cpu
        if name == MEMORY:
            return self.memory
        return self.scalars.get(name, 0.0) if self.scalars else 0.0

    def has_dimension(self, name: str) -> bool:
        """Whether the dimension is present (cpu and memory always are)."""
        return name in (CPU, MEMORY) or (self.scalars is not None and name in self.scalars)

    def states_dimension(self, name: str) -> bool:
        """Whether the dimension is stated: cpu and memory by an amount above the tolerance, a scalar by its key."""
        return self.get(name) >= MIN_RESOURCE if name in (CPU, MEMORY) else self.has_dimension(name)

    def items(self) -> Iterator[tuple[str, float]]:
        """(name, amount): cpu, memory, then scalars ascending by name."""
        yield CPU, self.milli_cpu
        yield MEMORY, self.memory
        if self.scalars:
            yield from sorted(self.scalars.items())

    def is_empty(self) -> bool:
        """Whether every dimension except `pods` is below the tolerance. Upstream: api/resource_info.IsEmpty."""
        if self.milli_cpu >= MIN_RESOURCE or self.memory >= MIN_RESOURCE:
            return False
        return all(amount < MIN_RESOURCE for name, amount in (self.scalars or {}).items() if name != PODS)

    def sums_exactly(self) -> bool:
        """Whether whole numbers that add up to this give the same float in any order: all below 2^52."""
        small = abs(self.milli_cpu) < _MAX_EXACT_INT and abs(self.memory) < _MAX_EXACT_INT
        return small and (not self.scalars or max(map(abs, self.scalars.values())) < _MAX_EXACT_INT)

    def resource_names(self) -> list[str]:
        """Dimensions held: cpu, memory, then scalars ascending. Upstream: api/resource_info.ResourceNames."""
        return [name for name, amount in self.items() if amount >= MIN_RESOURCE]

    def __str__(self) -> str:
        """Upstream's text: `cpu 1000.00, memory 2048.00, nvidia.com/gpu 1000.00`."""
        return ", ".join(f"{name} {_format_amount(amount)}" for name, amount in self.items())

    def __repr__(self) -> str:
        return f"Resource({self})"

    def set_scalar(self, name: str, amount: float) -> None:
        """Set one scalar, creating the map when it is nil. Upstream: api/resource_info.SetScalar."""
        if self.scalars is None:
            self.scalars = {}
        self.scalars[name] = amount

    def add_scalar(self, name: str, amount: float) -> None:
        """Add to one scalar, creating the map when it is nil. Upstream: api/resource_info.AddScalar."""
        if self.scalars is None:
            self.scalars = {}
        self.scalars[name] = self.scalars.get(name, 0.0) + amount

    def add(self, rr: Resource) -> Resource:
        """Component sum; the map is created only if `rr` has entries. Upstream: api/resource_info.Add."""
        self.milli_cpu += rr.milli_cpu
        self.memory += rr.memory
        if rr.scalars:
            scalars = self.scalars
            if scalars is None:
                # 0.0 + amount, as Go adds to a missing map entry: it turns -0.0 into 0.0.
                self.scalars = {name: 0.0 + amount for name, amount in rr.scalars.items()}
                return self
            for name, amount in rr.scalars.items():
                # try costs nothing where the key is present, which is nearly always; get() would cost every time.
                try:
                    scalars[name] += amount
                except KeyError:
                    scalars[name] = 0.0 + amount
        return self

    def add_all(self, amounts: Iterable[Resource]) -> Resource:
        """The same as `add` for each in order, with cpu and memory in local variables: a hot loop."""
        milli_cpu, memory, scalars = self.milli_cpu, self.memory, self.scalars
        for rr in amounts:
            milli_cpu += rr.milli_cpu
            memory += rr.memory
            if rr.scalars:
                if scalars is None:
                    scalars = self.scalars = {}
                for name, amount in rr.scalars.items():
                    try:
                        scalars[name] += amount
                    except KeyError:
                        scalars[name] = 0.0 + amount
        self.milli_cpu, self.memory = milli_cpu, memory
        return self

    def sub_then_add(self, rr: Resource) -> None:
        """The same as `sub` and then `add` of one resource, in one pass."""
        # Not a no-op: both steps round, `sub` can panic, and it creates missing scalars.
        milli_cpu, memory, scalars = self.milli_cpu - rr.milli_cpu, self.memory - rr.memory, self.scalars
        if scalars is None or not (milli_cpu > _MINUS_MIN and memory > _MINUS_MIN):
            self.sub(rr).add(rr)
            return
        renewed = {}
        for name, amount in rr.scalars.items() if rr.scalars else ():
            remaining = scalars.get(name, 0.0) - amount
            if not remaining > _MINUS_MIN:
                self.sub(rr)
            renewed[name] = remaining + amount
        scalars.update(renewed)
        self.milli_cpu = milli_cpu + rr.milli_cpu
        self.memory = memory + rr.memory

    def sub(self, rr: Resource) -> Resource:
        """Component difference; raises SchedulerPanic where upstream asserts. Upstream: api/resource_info.Sub."""
        milli_cpu, memory, scalars = self.milli_cpu - rr.milli_cpu, self.memory - rr.memory, self.scalars
        # Checked before any change: upstream asserts first, and its panic leaves the amounts unchanged.
        own_scalars, remaining = scalars or _NO_SCALARS, {}
        is_sufficient = milli_cpu > _MINUS_MIN and memory > _MINUS_MIN
        for name, amount in (rr.scalars or _NO_SCALARS).items():
            difference = remaining[name] = own_scalars.get(name, 0.0) - amount
            if not difference > _MINUS_MIN:
                is_sufficient = False
        if not is_sufficient:
            raise SchedulerPanic(f"resource is not sufficient to do operation: <{self}> sub <{rr}>")
        self.milli_cpu, self.memory = milli_cpu, memory
        if scalars is not None:
            scalars.update(remaining)
        return self

    def sub_without_assert(self, rr: Resource) -> Resource:
        """Difference that may go negative; a nil map stays. Upstream: api/resource_info.SubWithoutAssert."""
        self.milli_cpu -= rr.milli_cpu
        self.memory -= rr.memory
        scalars = self.scalars
        if scalars is not None and rr.scalars:
            for name, amount in rr.scalars.items():
                try:
                    scalars[name] -= amount
                except KeyError:
                    scalars[name] = 0.0 - amount
        return self

    def multi(self, ratio: float) -> Resource:
        """Every dimension times `ratio`. Upstream: api/resource_info.Multi."""
        self.milli_cpu *= ratio
        self.memory *= ratio
        for name in self.scalars or ():
            self.scalars[name] *= ratio  # type: ignore[index]  # the loop runs only over a map
        return self

    def set_max_resource(self, rr: Resource) -> None:
        """Per-dimension maximum; a nil map takes `rr`'s scalars. Upstream: api/resource_info.SetMaxResource."""
        self.milli_cpu = max(self.milli_cpu, rr.milli_cpu)
        self.memory = max(self.memory, rr.memory)
        if not rr.scalars:
            return
        if self.scalars is None:
            self.scalars = dict(rr.scalars)
            return
        for name, amount in rr.scalars.items():
            if name not in self.scalars or amount > self.scalars[name]:
                self.scalars[name] = amount

    def min_dimension_resource(self, rr: Resource, default: DefaultValue) -> Resource:
        """Per-dimension minimum, in own dimensions only. Upstream: api/resource_info.MinDimensionResource."""
        self.milli_cpu = min(self.milli_cpu, rr.milli_cpu)
        self.memory = min(self.memory, rr.memory)
        if self.scalars is None:
            return self
        other = rr.scalars or {}
        for name, amount in self.scalars.items():
            if name in other:
                self.scalars[name] = min(amount, other[name])
            elif default == ZERO:
                self.scalars[name] = 0.0
        return self

    def less_equal(self, rr: Resource, default: DefaultValue = ZERO) -> bool:
        """Whether this is at most `rr` (plus tolerance) on every dimension. Upstream: api/resource_info.LessEqual."""
        if default == INFINITY:
            # What this lacks is infinite, and so is what `rr` lacks.
            scalars, others = self.scalars or {}, rr.scalars or {}
            others_met = all(name in scalars and at_most(scalars[name], amount) for name, amount in others.items())
            return at_most(self.milli_cpu, rr.milli_cpu) and at_most(self.memory, rr.memory) and others_met
        # at_most written out: this is the commonest comparison, and a call per dimension costs more than the test.
        if not (rr.milli_cpu - self.milli_cpu > _MINUS_MIN and rr.memory - self.memory > _MINUS_MIN):
            return False
        if not self.scalars:
            return True
        other = rr.scalars or _NO_SCALARS
        for name, amount in self.scalars.items():  # noqa: SIM110  # a generator costs twice as much here
            if not other.get(name, 0.0) - amount > _MINUS_MIN:
                return False
        return True

    def less_equal_with_resources_name(self, rr: Resource) -> tuple[bool, list[str]]:
        """Same as less_equal, with the names of failing dimensions; dimensions that only `rr` has are ignored.
        Upstream: api/resource_info.LessEqualWithResourcesName.
        """
        if self.less_equal(rr):
            return True, []
        failing = [name for name, amount in self.items() if not at_most(amount, rr.get(name))]
        return not failing, failing

    def less_equal_with_dimension_and_resources_name(
        self, rr: Resource | None, req: Resource | None
    ) -> tuple[bool, list[str]]:
        """Strict `<=` without tolerance on the dimensions with req > 0, `pods` left out; with the failing names.
        Upstream: api/resource_info.LessEqualWithDimensionAndResourcesName.
        """
        if rr is None:
            return False, self.resource_names()
        if req is None:
            return self.less_equal_with_resources_name(rr)
        # Upstream leaves scalars out altogether where this side's map is nil, even where it would be above.
        nil = self.scalars is None
        failing = [
            name
            for name in judged_dimensions(req)
            if self.get(name) > rr.get(name) and not (nil and name not in (CPU, MEMORY))
        ]
        return not failing, failing

    def less_partly(self, rr: Resource) -> bool:
        """Whether this is less on some dimension, missing ones counted as 0. Upstream: api/resource_info.LessPartly."""
        if self.milli_cpu < rr.milli_cpu or self.memory < rr.memory:
            return True
        scalars, other_scalars = self.scalars or {}, rr.scalars or {}
        if any(name not in scalars for name in other_scalars):
            return True
        return any(amount < other_scalars.get(name, 0.0) for name, amount in scalars.items())

    def less_equal_partly_with_dimension(self, rr: Resource, req: Resource | None) -> tuple[bool, list[str]]:
        """At most `rr` on some dimension with req > 0, `pods` left out; with the satisfied names.
        Upstream: api/resource_info.LessEqualPartlyWithDimension.
        """
        if req is None:
            return False, []
        satisfied = [name for name in judged_dimensions(req) if at_most(self.get(name), rr.get(name))]
        return bool(satisfied), satisfied

    def less_equal_partly_with_dimension_zero_filtered(
        self, rr: Resource, req: Resource | None
    ) -> tuple[bool, list[str]]:
        """As before, after dropping the dimensions in which both sides hold nothing.
        Upstream: api/resource_info.LessEqualPartlyWithDimensionZeroFiltered.
        """
        if req is None:
            return False, []
        relevant = Resource()
        for name, amount in req.items():
            if self.get(name) < MIN_RESOURCE and rr.get(name) < MIN_RESOURCE:
                continue
            set_amount(relevant, name, amount)
        return self.less_equal_partly_with_dimension(rr, relevant)

    def equal(self, rr: Resource) -> bool:
        """Equal within the tolerance on this resource's own dimensions. Upstream: api/resource_info.Equal."""
        return all(abs(amount - rr.get(name)) < MIN_RESOURCE for name, amount in self.items())

    def greater_partly_with_dimension(self, rr: Resource | None, req: Resource | None) -> tuple[bool, list[str]]:
        """Strictly more on one of `judged_dimensions(req)`. Upstream: api/resource_info.GreaterPartlyWithDimension."""
        if req is None:
            return False, []
        limit = rr if rr is not None else Resource()
        names = [name for name in judged_dimensions(req) if self.get(name) > limit.get(name)]
        return bool(names), names

    def greater_partly_with_relevant_dimensions(
        self, rr: Resource | None, req: Resource | None
    ) -> tuple[bool, list[str]]:
        """As before, on cpu and memory only where `rr` holds something, on scalars only where `rr` has the key.
        Upstream: api/resource_info.GreaterPartlyWithRelevantDimensions.
        """
        if req is None:
            return False, []
        limit = rr if rr is not None else Resource()
        relevant = Resource()
        for name, amount in req.items():
            if limit.states_dimension(name):
                set_amount(relevant, name, amount)
        return self.greater_partly_with_dimension(limit, relevant)

    def diff(self, rr: Resource) -> tuple[Resource, Resource]:
        """(increase, decrease) from `rr` to this; both have scalar maps. Upstream: api/resource_info.Diff."""
        inc, dec = Resource(scalars={}), Resource(scalars={})
        if self.milli_cpu > rr.milli_cpu:
            inc.milli_cpu = self.milli_cpu - rr.milli_cpu
        else:
            dec.milli_cpu = rr.milli_cpu - self.milli_cpu
        if self.memory > rr.memory:
            inc.memory = self.memory - rr.memory
        else:
            dec.memory = rr.memory - self.memory
        scalars, other_scalars = self.scalars or {}, rr.scalars or {}
        for name in sorted({**scalars, **other_scalars}):
            _diff_scalar(inc, dec, name, scalars.get(name, 0.0), other_scalars.get(name, 0.0))
        return inc, dec


def _diff_scalar(inc: Resource, dec: Resource, name: str, left: float, right: float) -> None:
    """Enter the difference of one scalar into `inc` or `dec`; -1 means infinity, even if it is a real amount."""
    if left == -1:
        inc.set_scalar(name, -1)
    elif right == -1:
        dec.set_scalar(name, -1)
    elif left > right:
        inc.set_scalar(name, left - right)
    else:
        dec.set_scalar(name, right - left)


def set_amount(resource: Resource, name: str, amount: float) -> None:
    """Set one dimension. Upstream: api/resource_info.setDefaultValue."""
    if name == CPU:
        resource.milli_cpu = amount
    elif name == MEMORY:
        resource.memory = amount
    else:
        resource.set_scalar(name, amount)


def _format_amount(amount: float) -> str:
    if amount == MAX_FLOAT64:
        return "maxFloat"
    if amount == float(MAX_INT64):
        return "maxInt"
    return f"{amount:.2f}"


def judged_dimensions(req: Resource) -> list[str]:
    """The dimensions that a comparison for a request examines: those with req > 0 except `pods`."""
    return [name for name, amount in req.items() if amount > 0 and name != PODS]


def resource_max(left: Resource, right: Resource, *, keeps_zeros: bool = True) -> Resource:
    """Per-dimension maximum, without scalars below 0, or of 0 unless `keeps_zeros`. Upstream: api/helpers.Max."""
    result = Resource(max(left.milli_cpu, right.milli_cpu), max(left.memory, right.memory))
    if left.scalars is None and right.scalars is None:
        return result
    threshold = 0.0 if keeps_zeros else SMALLEST_AMOUNT
    scalars = {name: amount for name, amount in (left.scalars or {}).items() if amount >= threshold}
    for name, amount in (right.scalars or {}).items():
        if amount >= threshold:
            scalars[name] = max(scalars.get(name, amount), amount)
    result.scalars = scalars
    return result


def deep_equal(left: Resource, right: Resource) -> bool:
    """Exact equality of every field; nil and empty scalar maps are the same."""
    return (
        left.milli_cpu == right.milli_cpu
        and left.memory == right.memory
        and left.max_task_num == right.max_task_num
        and (left.scalars or {}) == (right.scalars or {})
    )
