"""The fast verdict of a limit equals that of the comparison that names the failing dimensions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vcdebug.model.queue import check_request, request_fits
from vcdebug.model.resource import Resource

AMOUNTS = st.sampled_from([0.0, 0.05, 1.0, 2.0, 3.0])
RESOURCES = st.builds(
    Resource,
    AMOUNTS,
    AMOUNTS,
    st.one_of(st.none(), st.dictionaries(st.sampled_from(["pods", "nvidia.com/gpu", "example.com/x"]), AMOUNTS)),
)


@settings(deadline=None)
@given(RESOURCES, RESOURCES, RESOURCES)
def test_the_quick_verdict_is_the_one_with_names(allocated: Resource, request: Resource, limit: Resource) -> None:
    check = check_request(allocated, request, limit)
    full, failing = check.total.less_equal_with_dimension_and_resources_name(limit, check.requested)
    assert (full, failing) == (check.is_within_limit, check.exceeded_dimensions)
    assert full == request_fits(allocated, request, limit)
