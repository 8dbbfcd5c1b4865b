"""The configuration of virtual GPUs and Ascend NPUs, where the scheduler's own asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vcdebug.capture.permission import FORBIDDEN, NOT_FOUND, PROBLEM_FILE
from vcdebug.capture.transport import Api, ApiRefusal
from vcdebug.plugins import DEVICESHARE
from vcdebug.snapshot.device_config import DEVICE_CONFIG_FILE as KEY
from vcdebug.snapshot.device_config import (
    DEVICE_CONFIG_NAME,
    DEVICE_CONFIG_NAMESPACE,
    NAME_ARGUMENT,
    NAMESPACE_ARGUMENT,
)
from vcdebug.snapshot.problem import Problem

if TYPE_CHECKING:
    from vcdebug.framework.arguments import Arguments

DEVICE_PLUGIN = DEVICESHARE
DEVICE_SWITCHES = ("deviceshare.VGPUEnable", "deviceshare.AscendHAMiVNPUEnable")
DEVICES_MISSING = "the device configuration"
BUILT_IN_NAMES = "the built-in names of virtual GPUs and Ascend NPUs are used, which this cluster may not use"


def read_device_config(api: Api, conf: str | None, problems: list[Problem], missing: list[str]) -> str | None:
    """Its text; None where nothing asks for it, where there is none, or where it may not be read."""
    arguments = _plugin_arguments(conf)
    if arguments is None or not any(arguments.get_bool(switch, default=False) for switch in DEVICE_SWITCHES):
        return None
    namespace, name = (
        arguments.get_string(NAMESPACE_ARGUMENT, DEVICE_CONFIG_NAMESPACE),
        arguments.get_string(NAME_ARGUMENT, DEVICE_CONFIG_NAME),
    )
    try:
        data = api.get_object(f"/api/v1/namespaces/{namespace}/configmaps/{name}").get("data")
    except ApiRefusal as refusal:
        if refusal.status != NOT_FOUND:
            what = 'missing permission: verb "get"' if refusal.status == FORBIDDEN else str(refusal)
            problems.append(Problem(PROBLEM_FILE, f"ConfigMap {namespace}/{name}", "", what, BUILT_IN_NAMES))
            missing.append(DEVICES_MISSING)
        return None
    text = data.get(KEY) if isinstance(data, dict) else None
    return text if isinstance(text, str) else None


def _plugin_arguments(conf: str | None) -> Arguments | None:
    """Those of the plugin, if it is configured."""
    from vcdebug.framework.arguments import Arguments
    from vcdebug.trace.conf import parse_conf

    for tier in parse_conf(conf).tiers:
        for option in tier:
            if option.name == DEVICE_PLUGIN:
                return Arguments(option.arguments)
    return None
