"""Host ports that a pod requests, and those in use on each node. Upstream: k8s plugin nodeports, HostPortInfo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.model.names import Row
from vcdebug.releases.nodes import SIDECAR_HOST_PORTS
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import JsonObject

ANY_IP = "0.0.0.0"
NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"


class HostPort(NamedTuple):
    """A host port that a container requests."""

    ip: str
    protocol: str
    port: int

    def conflicts_with(self, used: HostPort) -> bool:
        """Whether the port conflicts with a port in use."""
        return (self.protocol, self.port) == (used.protocol, used.port) and addresses_overlap(self.ip, used.ip)


def addresses_overlap(requested: str, used: str) -> bool:
    """Whether a requested and a used address of one port conflict."""
    return requested == ANY_IP or used in (ANY_IP, requested)


HostPorts = tuple[HostPort, ...]


def host_ports(spec: JsonObject, release: Release = NEWEST) -> HostPorts:
    """The host ports of a pod: those of sidecars first, then those of containers."""
    return tuple(_list_ports(spec, with_sidecars=not release.has_older_form(SIDECAR_HOST_PORTS)))


def _list_ports(spec: JsonObject, *, with_sidecars: bool) -> Iterator[HostPort]:
    first = spec.get("initContainers") or () if with_sidecars else ()
    sidecars = [c for c in first if c.get("restartPolicy") == "Always"]
    for container in (*sidecars, *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            if (port.get("hostPort") or 0) > 0:
                yield HostPort(port.get("hostIP") or ANY_IP, port.get("protocol") or "TCP", port["hostPort"])


class UsedPorts:
    """The host ports in use, by port and address. A removal is not reference counted, as upstream's."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], dict[str, dict[Row, None]]] = {}

    def add_ports(self, row: Row, ports: HostPorts) -> None:
        """Mark the ports as used on a node."""
        for ip, protocol, port in ports:
            self._rows.setdefault((protocol, port), {}).setdefault(ip, {})[row] = None

    def remove_ports(self, row: Row, ports: HostPorts) -> None:
        """Free the ports on a node."""
        for ip, protocol, port in ports:
            # Upstream's HostPortInfo is a set: removing one of two pods with the port frees it for both.
            self._rows.get((protocol, port), {}).get(ip, {}).pop(row, None)

    def conflicting_rows(self, host_ports: HostPorts) -> dict[Row, None]:
        """Rows on which a requested port is in use."""
        rows: dict[Row, None] = {}
        for ip, protocol, port in host_ports:
            by_ip = self._rows.get((protocol, port), {})
            for used_ip, used_rows in by_ip.items():
                if addresses_overlap(ip, used_ip):
                    rows.update(used_rows)
        return rows
