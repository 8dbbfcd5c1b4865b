"""The plugins of each hook, resolved once per session; calls that a trace lists are wrapped in a recorder.

Upstream: framework/session_plugins (registration).
"""

from collections.abc import Mapping
from functools import partial

from vcdebug.framework.combine import Answer, Call, HookFunctions, PluginCall, RecordedCall, ShowFunction, Tiers
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.hooks import HOOKS, AnyHook
from vcdebug.framework.record import HookEvent, Record, fast_tuple
from vcdebug.framework.session import Plugin
from vcdebug.releases.release import NEWEST, Release
from vcdebug.releases.scheduling import VICTIMS_NOT_RESTARTED


def bind_recorded(call: RecordedCall) -> Call:
    """A function that calls the plugin and records the call as an event."""
    # Bound arguments are faster than attribute lookups at each call.
    return partial(_call_and_record, *call)


def _call_and_record(
    function: Call, plugin: str, point: str, show: ShowFunction, record: Record, *args: object
) -> Answer:
    """Call the function and record the call, unless another recorded call is running."""
    if record.running_call_count:
        return function(*args)
    # Set to 1, not += 1: nested calls have returned above.
    record.running_call_count = 1
    try:
        answer = function(*args)
    finally:
        record.running_call_count = 0
    subject, result = show(args, answer)
    record.events.append(fast_tuple(HookEvent, (point, plugin, subject, result)))
    return answer


def register_hooks(functions: HookFunctions, plugin: Plugin, withdrawn: Mapping[str, None]) -> None:
    """Register the hooks of one plugin instance, except the withdrawn ones."""
    for hook in HOOKS:
        if hook.method not in withdrawn and hasattr(plugin, hook.method):
            functions.setdefault(hook.method, {})[plugin.name] = getattr(plugin, hook.method)


def build_plugin_calls(
    conf: SchedulerConf, functions: HookFunctions, record: Record, release: Release = NEWEST
) -> dict[str, Tiers]:
    """Map each hook method to the tiers of plugins that take part."""
    return {hook.method: _hook_tiers(hook, conf, functions.get(hook.method, {}), record, release) for hook in HOOKS}


def _hook_tiers(
    hook: AnyHook, conf: SchedulerConf, functions: Mapping[str, Call], record: Record, release: Release
) -> Tiers:
    tiers: list[list[PluginCall]] = []
    show = hook.show_for(release)
    for options in conf.tiers:
        tier: list[PluginCall] = []
        for option in options if functions else ():
            function = functions.get(option.name)
            if function is None or not option.is_enabled(hook.switches):
                continue
            if show is None:
                tier.append(PluginCall(option.name, function))
                continue
            call = RecordedCall(function, option.name, hook.upstream, show, record)
            tier.append(PluginCall(option.name, bind_recorded(call), call))
        tiers.append(tier)
    return Tiers(tiers, record.add_last_note, restarts=not release.has_older_form(VICTIMS_NOT_RESTARTED))
