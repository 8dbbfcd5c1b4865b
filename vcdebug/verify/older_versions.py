"""Objects as an older version of their API has them: what a real server converts.

Upstream: k8s apis/resource/v1beta1 (conversion).
"""

from __future__ import annotations

from typing import Final

from vcdebug.snapshot.manifest import spec_of
from vcdebug.verify.messages import Body

FIRST_OF_DEVICES: Final = "resource.k8s.io/v1beta1"


def converted_object(body: Body, api_version: str) -> Body:
    """The object in the version that is asked for; every other one is served as it is stored."""
    if api_version != FIRST_OF_DEVICES:
        return body
    body = {**body, "apiVersion": api_version}
    spec = spec_of(body)
    claimed = spec.get("devices")
    if isinstance(claimed, dict) and claimed.get("requests"):
        return {
            **body,
            "spec": {**spec, "devices": {**claimed, "requests": [*map(_older_request, claimed["requests"])]}},
        }
    if isinstance(claimed, list):
        return {**body, "spec": {**spec, "devices": [*map(_older_device, claimed)]}}
    return body


def _older_request(request: Body) -> Body:
    """What is asked for exactly stood in the request itself."""
    exactly = request.get("exactly")
    return request if exactly is None else {**{k: v for k, v in request.items() if k != "exactly"}, **exactly}


def _older_device(device: Body) -> Body:
    """All but the name stood in a part of its own."""
    if "basic" in device:
        return device
    return {"name": device.get("name"), "basic": {k: v for k, v in device.items() if k != "name"}}
