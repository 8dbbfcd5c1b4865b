"""Messages of searches, scores and plugins.

Upstream: util/predicate_helper, util/scheduler_helper, plugins.
"""

from vcdebug.explain.logs.message import UNORDERED, Message, rows

_PASSES = (
    *rows(
        "predicate_helper.go",
        ("pass.node", 4, "Considering Task <{task}> on node <{node}>: <{request}> vs. <{idle}>", UNORDERED),
        ("pass.failed", 3, "Predicates failed: {error}", UNORDERED),
    ),
    *rows(
        "scheduler_helper.go",
        ("score.total", 5, "Prioritize nodeScoreMap for task<{task}> is: {scores}"),
        (
            "score.plugin",
            5,
            (
                '"Add plugin score at hypeNode" subJob="{sub_job}" pluginName="{plugin}" hyperNodeName="{hyper_node}" '
                "score={score}"
            ),
        ),
        ("score.domains", 5, '"Prioritize hyperNode score map for subJob" subJob="{sub_job}" scoreMap={scores}'),
    ),
    *rows(
        "nodeorder.go",
        ("score.scoring", 4, "Score node through {part} plugin", UNORDERED),
        (
            "score.part",
            4,
            "Node: {node}, task<{task}> plugin {part} weight {weight}, raw score: {raw}, weighted score: {score}",
            UNORDERED,
        ),
        ("score.nodeorder", 4, "Nodeorder Total Score for task<{task}> on node {node} is: {score}", UNORDERED),
        ("score.nodeorder-batch", 4, "Batch Total Score for task {task} is: {scores}"),
        firm=False,
    ),
    *rows("predicates.go", ("score.predicates-batch", 4, "Batch Total Score for task {task} is: {scores}"), firm=False),
    *rows(
        "binpack.go",
        ("score.binpack", 4, "Binpack score for Task {task} on node {node} is: {score}", UNORDERED),
        firm=False,
    ),
)

_PLUGINS = (
    *rows(
        "drf.go",
        ("drf.total", 4, "Total Allocatable {total}"),
        ("drf.victims", 4, "[drf] Victims from DRF preemptable plugin are {tasks}"),
        (
            "drf.allocate",
            4,
            "[drf] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <{namespace}>",
        ),
        (
            "drf.deallocate",
            4,
            "[drf] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <{namespace}>",
        ),
    ),
    *rows(
        "proportion.go",
        ("proportion.total", 4, "The total resource is <{total}>"),
        (
            "proportion.overused",
            3,
            "Queue <{queue}> is overused: deserved <{deserved}>, allocated <{allocated}>, share <{share}>",
        ),
        (
            "proportion.refused",
            3,
            "Queue <{queue}>: deserved <{deserved}>, allocated <{allocated}>; Candidates total request <{request}>",
        ),
        ("proportion.allocate", 4, "[proportion] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        ("proportion.deallocate", 4, "[proportion] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
    ),
    *rows(
        "capacity.go",
        ("capacity.total", 4, "The total resource is <{total}>"),
        ("capacity.allocate", 4, "[capacity] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        ("capacity.deallocate", 4, "[capacity] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>"),
        firm=False,
    ),
    *rows(
        "gang.go",
        (
            "gang.kept",
            4,
            (
                "Can not preempt task <{task}> because job {job} ready num({ready}) <= MinAvailable({minimum}) "
                "for gang-scheduling"
            ),
        ),
        ("gang.victims", 4, "Victims from Gang plugins, victims={tasks} preemptor={preemptor}"),
    ),
    *rows(
        "priority.go",
        (
            "priority.job",
            4,
            (
                "[priority] Can not preempt task <{task}> because preemptee job has greater or equal job priority "
                "({theirs}) than preemptor ({ours})"
            ),
        ),
        (
            "priority.task",
            4,
            (
                "[priority] Can not preempt task <{task}> because preemptee task has greater or equal task priority "
                "({theirs}) than preemptor ({ours})"
            ),
        ),
        ("priority.victims", 4, "[priority] Victims from Priority plugin are {tasks}"),
        ("priority.unified", 4, "Victims from Priority UnifiedEvictableFn are {tasks}"),
    ),
    *rows(
        "predicates.go",
        ("view.allocate", 4, "predicates, allocate {node}"),
        ("view.added", 4, "predicates, update pod {task} allocate to node [{node}]"),
        ("view.deallocate", 4, "predicates, deallocate {node}"),
        ("view.removed", 4, "predicates, update pod {task} deallocate from node [{node}]"),
        (
            "view.missing",
            0,
            (
                "predicates, remove pod {task} from node [{node}] error: "
                "no corresponding pod {name} in pods of node {node}"
            ),
        ),
        ("view.refused", 0, "Reserve plugin VolumeBinding failed for pod {task}: {error}"),
        firm=False,
    ),
    *rows(
        "predicates.go",
        (
            "filter.affinity",
            5,
            (
                "The predicate of plugin InterPodAffinity will skip execution for pod <{task}>, "
                "because the status returned by pre-predicate is skip"
            ),
        ),
        (
            "filter.skipped",
            5,
            (
                "The predicate of plugin {filter} will skip execution for pod <{task}>, "
                "because the status returned by pre-predicate is skip"
            ),
        ),
        firm=False,
    ),
    *rows(
        "dynamicresources.go", ("filter.claims", 5, '"pod resource claims" pod="{task}" resourceclaims=[]'), firm=False
    ),
    *rows(
        "job_info.go",
        ("job.valid", 5, "job {name}/{namespace} actual: {roles}, ji.TaskMinAvailable: {minima}"),
        firm=False,
    ),
)

PLUGINS: tuple[Message, ...] = (
    *_PASSES,
    *_PLUGINS,
)
