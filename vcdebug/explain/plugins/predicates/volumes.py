"""Filters about volumes and resource claims."""

from __future__ import annotations

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term, first_failing
from vcdebug.explain.selectors import term_text
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.volume_binding import VolumeState
from vcdebug.kube.volume_zone import ZoneLimit, zone_of
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import (
    DynamicResourcesFilter,
    NodeVolumeLimitsFilter,
    VolumeBindingFilter,
    VolumeZoneFilter,
)

LIMIT_FORMULA = "attached + new volumes of a driver ≤ its limit on the node"
ZONE_FORMULA = "the node's zone or region is one of the volume's; a node without such labels passes"
BINDING_FORMULA = "bound volumes reach the node; the others are available there, or can be provisioned"
CLAIM_FORMULA = "the node meets a selector term of each allocated claim"


def limits(plugin: Predicates, asked: Asked) -> Equation:
    """Each driver's volumes."""
    found = next((one for one in plugin.filters if isinstance(one, NodeVolumeLimitsFilter)), None)
    placed = (shape.pod for shape in plugin.view.pods[asked.row])
    counted = found.check.drivers(asked.pod, asked.node.name, placed)[0] if found is not None else ()
    terms = tuple(Term(one.driver, (one.attached, one.new, one.limit), not one.exceeds) for one in counted)
    title, columns = f"volumes attached to {asked.node.name}", ("attached", "new", "limit")
    return Equation(title, LIMIT_FORMULA, columns, "check", terms, None, first_failing(terms))


def zones(plugin: Predicates, asked: Asked) -> Equation:
    """Each volume's zones beside the node's."""
    found = plugin.prepared(asked.task).data.get(VolumeZoneFilter.STATE)
    wanted: tuple[ZoneLimit, ...] = found if isinstance(found, tuple) else ()
    terms = tuple(_zone(asked, one) for one in wanted)
    title, columns = f"zones of volumes on {asked.node.name}", ("the volume's", "the node's")
    return Equation(title, ZONE_FORMULA, columns, "check", terms, None, first_failing(terms))


def _zone(asked: Asked, one: ZoneLimit) -> Term:
    here = zone_of(asked.node.labels, one)
    return Term(one.key, (", ".join(one.values), here), here in one.values)


def binding(plugin: Predicates, asked: Asked) -> Equation:
    """Each claim of the pod."""
    found = next((one for one in plugin.filters if isinstance(one, VolumeBindingFilter)), None)
    state = plugin.prepared(asked.task).data.get(VolumeBindingFilter.STATE)
    node = asked.node
    fits = found.check.claims(state, node.name, node.labels) if found and isinstance(state, VolumeState) else ()
    terms = tuple(Term(one.claim, (one.volume or None, one.words), one.fits) for one in fits)
    title, columns = f"claims of the pod on {node.name}", ("volume", "")
    return Equation(title, BINDING_FORMULA, columns, "check", terms, None, first_failing(terms))


def claims(plugin: Predicates, asked: Asked) -> Equation:
    """Each allocated resource claim."""
    state, node = plugin.prepared(asked.task).data.get(DynamicResourcesFilter.STATE), asked.node
    selectors = state.selectors if isinstance(state, ClaimState) else []
    terms = tuple(
        Term(" or ".join(map(term_text, one)), (), any(term.matches(node.labels, node.name) for term in one))
        for one in selectors
    )
    title = f"resource claims on {node.name}"
    return Equation(title, CLAIM_FORMULA, (), "check", terms, None, first_failing(terms))
