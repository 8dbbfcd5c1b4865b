"""The lines of the real scheduler's log that are written and recognised: one row each.

Upstream: the klog calls of cache, framework, actions, plugins and util.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from vcdebug.comparison.logs.message import LogMessage, has_parts_in_order, parse_messages
from vcdebug.grouping import group_by_key

MESSAGE_ROWS = """
session.go session
  hypernode 5 "hyperNode in session" name="{name}" tier={tier} parent="{parent}" children={children}
  open 3 Open Session … with <{jobs}> Job and <{queues}> Queues. HyperNodesReadyToSchedule: {ready}
  open 3@hypernodes-not-ready Open Session … with <{jobs}> Job and <{queues}> Queues{ready:.0}
  close 3 Close Session …

statement.go statement
  pipelined 3 After pipelined Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>
  unpipelined 3 After unpipelined Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>
  allocated 3 After allocated Task <{task}> to Node <{node}>: idle <{idle}>, used <{used}>, releasing <{releasing}>
  allocating 3 Allocating operations ...
  remove 3 Remove Task <{name}> on node <{node}>
  discard 3 Discarding operations ...
  commit 3 Committing operations ...
  save 4 Save operations: {operations}
  recover 4 Recover operations:

cache.go cache ?
  no-queue 3~ The Queue <{queue}> of Job <{job}> does not exist, ignore it.
  no-group 4~ The scheduling spec of Job <{uid}:{job}> is nil, ignore it.
  priority 4~ The priority of job <{job}> is <{priority_class}/{priority}>
  snapshot 3 "SnapShot for scheduling" jobNum={jobs} QueueNum={queues} NodeNum={nodes}
  bind 5~ add bind task {task}

enqueue.go enqueue
  enter 5 Enter Enqueue ...
  queue 5 Added Queue <{queue}> for Job <{job}>
  job 5 Added Job <{job}> into Queue <{queue}>
  try 3 Try to enqueue PodGroup to {count} Queues
  leave 5 Leaving Enqueue ...

allocate.go allocate
  enter 5 Enter Allocate ...
  pending 4 Job <{job}> Queue <{queue}> skip allocate, reason: job status is pending.
  inqueue 4 Job <{job}> Queue <{queue}> status update from pending to inqueue, reason: no enqueue action is configured.
  invalid 4 Job <{job}> Queue <{queue}> skip allocate, reason: {reason}, message {message}
  topology 4 Job <{job}> Queue <{queue}> skip allocate, reason: hyperNodes are not ready for scheduling
  gate 4 Task <{task}> has external scheduling gate, skip it.
  best-effort 4 Task <{task}> is BestEffort task, skip it.
  job 4 Added Job <{job}> into Queue <{queue}>
  try 3 Try to allocate resource to {count} Queues
  overused 3 Queue <{queue}> is overused, ignore it.
  no-jobs 4 Can not find jobs for queue {queue}.
  domains 3 "Try to allocate resource for job contains hard topology or subjob policy" queue="{queue}" job="{job}" allocatedHyperNode="{allocated}" subJobNum={count}
  domains 3@subgroup-without-hard "Try to allocate resource for job contains hard topology" queue="{queue}" job="{job}" allocatedHyperNode="{allocated}" subJobNum={count}
  flat 3 "Try to allocate resource" queue="{queue}" job="{job}" nominatedHyperNode="{nominated}" taskNum={count}
  flat 3@flat-nomination "Try to allocate resource" queue="{queue}" job="{job}" taskNum={count}
  domain 3 "Try to allocate resource for job in hyperNode" job="{job}" hyperNode="{hyper_node}"
  domain-fail 5 "Find solution for job fail" job="{job}" gradient={gradient}
  job-fail 5 "Cannot find any solution for job" job="{job}"
  domain-success 3 "Allocate job to hyperNode success" job="{job}" hyperNode="{hyper_node}"
  sub-job 3 "Try to allocate resource for subJob" job="{job}" subJob="{sub_job}" allocatedHyperNode="{allocated}" nominatedHyperNode="{nominated}" taskNum={count}
  sub-job 3@log-names "Try to allocate resource for subJob" job="{job}" subJob="{sub_job}" allocatedHyperNode="{allocated}" taskNum={count}
  tasks 3 "Try to allocate resource for tasks in subJob" job="{job}" subJob="{sub_job}" taskNum={count} hyperNode="{hyper_node}"
  sub-job-row 5 "Find solution for subJob fail" subJob="{sub_job}" gradient={gradient}
  sub-job-fail 5 "Cannot find any solution for subJob" subJob="{sub_job}"
  sub-job-success 3 "Allocate subJob to hyperNode success" subJob="{sub_job}" hyperNode="{hyper_node}" score={score} newAllocatedHyperNode="{allocated}"
  no-nodes 4 "There is no node in hyperNode" job="{job}" hyperNode="{hyper_node}"
  turn 3 Try to allocate resource to Jobs in Queue <{queue}>
  rest 3 Try to allocate resource to {count} tasks of Job <{job}>
  job-ready 3 "Job ready, return statement" jobName="{job}"
  unready 0 "RealNodesList not completely populated and not ready to schedule, please check logs for more details" job="{job}"
  tier-missing 0 "HyperNode not exists." jobName="{job}" name="{hyper_node}" tier={tier}
  tier-common 3 "Get LCAHyperNode for job" jobName="{job}" hyperNodeName="{hyper_node}" jobAllocatedHyperNode="{allocated}" tier={tier} LCAHyperNode="{common}"
  tier-try 3 "Try to allocate resource for job in hyperNode" jobName="{job}" hyperNodeName="{hyper_node}" tier={tier}
  tier-refused 4 "Cannot allocate resources for job with network topology constrains" jobName="{job}" hyperNodeName="{hyper_node}" tier={tier}
  tier-nothing 4 "Cannot allocate resources for job with network topology constrains when the stmt.Operations be empty" jobName="{job}" hyperNodeName="{hyper_node}" tier={tier}
  tier-over 4 "Skip search for higher tier cause highest allowed tier reached" jobName="{job}" highestAllowedTier={highest} tier={tier}
  tier-enough 4 "Skip search for higher tier cause has found a suitable one" tier={tier}
  tier-high 4 "Current tier of LCAHyperNode is higher than highestAllowedTier, skipping" jobName="{job}" highestAllowedTier={highest} tier={tier}
  tier-found 4 "Find available hyperNodes for job" jobName="{job}" tier={tier} hyperNodes={names}
  tier-none 3 "Failed to allocate resource for job, no available hyperNode is under highest allowed tier" jobName="{job}"
  tier-best 3 "Allocate job to hyperNode" jobName="{job}" hyperNode="{hyper_node}"
  lost 3 Queue <{queue}> is overused when considering task <{name}>, ignore it.
  again 5 Task {name} with role spec {role} has already predicated failed, skip
  nodes 3> There are <{count}> nodes for Job <{job}>
  pre-predicate 3 PrePredicate for task {task} failed for: …
  ready 3 "SubJob ready, return statement" job="{job}" subJob="{sub_job}"
  pipelined 3 "SubJob pipelined, return statement" job="{job}" subJob="{sub_job}"
  node 5 node {node}, idle: {idle}, future idle: {future}
  no-match 5 Task: {name}, no matching node is found in the candidateNodes（index: {index}） list.
  binding 3> Binding Task <{task}> to node <{node}>
  limited 3> Predicates failed in allocate for task <{task}> on node <{node}> with limited resources
  pipelining 3> Pipelining Task <{task}> to node <{node}> for <{request}> on <{releasing}>
  leave 5 Leaving Allocate ...

recorder.go recorder
  job 3 "update allocated hyperNode for job" job="{job}" old="{old}" new="{new}"
  sub-job 3 "update allocated hyperNode for subJob" subJob="{sub_job}" old="{old}" new="{new}"

backfill.go backfill
  enter 5 Enter Backfill ...
  invalid 4 Job <{job}> Queue <{queue}> skip backfill, reason: {reason}, message {message}
  pre-predicate 3 PrePredicate for task {task} failed in backfill for: …
  binding 3> Binding Task <{task}> to node <{node}>
  leave 5 Leaving Backfill ...

preempt.go preempt
  enter 5 Enter Preempt ...
  walked 3 Added Queue <{queue}> for Job <{job}>
  invalid 4 Job <{job}> Queue <{queue}> skip preemption, reason: {reason}, message {message}
  topology 3 Job <{job}> Queue <{queue}> skip preemption, reason: jobs containing networkTopology do not support preemption
  no-jobs 4 No preemptors in Queue <{queue}>, break.
  no-task 3 No preemptor task in job <{job}>.
  failed 3 Preemptor <{task}> failed to preempt Task , err: …
  never 3 Preemptor <{task}> failed to preempt Task , err: not eligible to preempt other tasks due to preemptionPolicy is Never
  no-candidates 3 Preemptor <{task}> failed to preempt Task , err: no candidates that fit the pod, the status of the nodes are map[]
  no-candidates 3@no-shards Preemptor <{task}> failed to preempt Task , err: …
  node 3> Considering Task <{task}> on Node <{node}>.
  no-victims 3 No validated victims on Node <{node}>: not enough resources: requested <{request}>, but future idle <{future}>
  victim 3> Try to preempt Task <{victim}> for Task <{task}>
  sum 3> Preempted <{amount}> for Task <{task}> requested <{request}>.
  no-nodes 3 No nodes are eligible to preempt task {task}
  count 0 the predicateNodes number is {count}
  candidates 3 all preemptees: {tasks}
  victims 3 allVictims: {tasks}
  enough 3 Pod {task} can be scheduled on node {node} after preempt {victim}, stop evicting more pods
  potential 3 potentialVictims---: {tasks}, nodeInfo: {node}
  kept 3 Pod is a potential preemption victim on nodepod{victim}node{node}
  reprieve 0 reprievePod for task: {name}, fits: {fits}
  chosen 0 victims: {tasks}
  leave 5 Leaving Preempt ...

reclaim.go reclaim
  enter 5 Enter Reclaim ...
  total 3 There are <{jobs}> Jobs and <{queues}> Queues in total for scheduling.
  invalid 4 Job <{job}> Queue <{queue}> skip reclaim, reason: {reason}, message {message}
  queue 4 Added Queue <{queue}> for Job <{job}>
  overused 3 Queue <{queue}> is overused, ignore it.
  no-jobs 4 No preemptors in Queue <{queue}>, break.
  no-task 3 No preemptor task in job <{job}>.
  tasks 3> Considering reclaim for {count} tasks of job <{job}>.
  never 3 Task {task} cannot preempt (policy Never)
  never 3@reclaim-immediate Task {task} is not eligible to preempt other tasks due to preemptionPolicy is Never
  refused 3 Queue <{queue}> cannot reclaim for task <{name}>, skip
  refused 3@reclaim-immediate Queue <{queue}> can not reclaim by preempt others when considering task <{name}> , ignore it.
  pre-predicate 3 PrePredicate failed for task {task}: …
  pre-predicate 3@reclaim-immediate PrePredicate for task {task} failed for: …
  predicate 4 Reclaim predicate for task {task} on node {node} return error …
  node 3> Considering Task <{task}> on Node <{node}>.
  nobody 4 No reclaimees on Node <{node}>.
  no-victims 3 No validated victims on Node <{node}>: not enough resources: requested <{request}>, but future idle <{future}>
  victim 3> Try to reclaim Task <{victim}> for Tasks <{task}>
  victim 0>@reclaim-immediate Try to reclaim Task <{victim}> for Tasks <{task}>
  sum 3> Reclaimed <{amount}> for task <{task}> requested <{request}>, and Node <{node}> availableResources <{available}>.
  sum 3>@reclaim-immediate Reclaimed <{amount}> for task <{task}> requested <{request}>.
  leave 5 Leaving Reclaim ...

gangpreempt.go gangpreempt
  enter 5 Enter GangPreempt ...
  leave 5 Leaving GangPreempt ...

gangreclaim.go gangreclaim
  enter 5 Enter GangReclaim ...
  leave 5 Leaving GangReclaim ...
  refused 3 Queue <{queue}> cannot reclaim for job <{job}>, skip

shuffle.go shuffle
  enter 5 Enter Shuffle ...
  leave 5 Leaving Shuffle ...
  victim 3> pod {name} from namespace {namespace} and job {job} will be evicted.

predicate_helper.go search
  node 4~ Considering Task <{task}> on node <{node}>: <{request}> vs. <{idle}>
  failed 3~ Predicates failed: {error}

scheduler_helper.go score
  total 5 Prioritize nodeScoreMap for task<{task}> is: {scores}
  plugin 5 "Add plugin score at hypeNode" subJob="{sub_job}" pluginName="{plugin}" hyperNodeName="{hyper_node}" score={score}
  domains 5 "Prioritize hyperNode score map for subJob" subJob="{sub_job}" scoreMap={scores}

nodeorder.go score ?
  scoring 5~ Score node through {part} plugin
  part 5~ Node: {node}, task<{task}> plugin {part} weight {weight}, raw score: {raw}, weighted score: {score:.6f}{images:.0}
  part 5~@log-scores Node: {node}, task<{task}> {part} weight {images}, score: {score:.6f}
  nodeorder 4~ Nodeorder Total Score for task<{task}> on node {node} is: {score:.6f}
  nodeorder-batch 4 Batch Total Score for task {task} is: {scores}

score_helper.go score ?
  batch-part 4 {part} Score for task {task} is: {scores}

predicates.go score ?
  predicates-batch 4 Batch Total Score for task {task} is: {scores}

binpack.go score ?
  binpack 4~ Binpack score for Task {task} on node {node} is: {score}

drf.go drf
  total 4 Total Allocatable {total}
  job-order 4 DRF JobOrderFn: <{left}> share state: {share}, <{right}> share state: {other}
  victims 4 [drf] Victims from DRF preemptable plugin are {tasks}
  victims 4@log-names Victims from DRF plugins are {tasks}
  allocate 4 [drf] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <-1>
  allocate 4@log-names DRF AllocateFunc: task <{task}>, resreq <{request}>,  share <{share}>, namespace share <-1>
  deallocate 4 [drf] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>, namespace share <-1>
  deallocate 4@log-names DRF EvictFunc: task <{task}>, resreq <{request}>,  share <{share}>, namespace share <-1>

proportion.go proportion
  total 4 The total resource is <{total}>
  guarantee 4 The total guarantee resource is <{total}>
  job 4 Considering Job <{job}>.
  added 4 Added Queue <{queue}> attributes.
  sums 5 Queue {queue} allocated <{allocated}> request <{request}> inqueue <{inqueue}> elastic <{elastic}>
  queue 4 Considering Queue <{queue}>: weight <{weight}>, total weight <{total}>.
  deserved 4 Format queue <{queue}> deserved resource to <{deserved}>
  meet 4 queue <{queue}> is meet
  capped 4 queue <{queue}> is meet cause of the capability
  attributes 4 The attributes of queue <{queue}> in proportion: deserved <{deserved}>, realCapability <{limit}>, allocate <{allocated}>, request <{request}>, elastic <{elastic}>, share <{share:.2f}>
  remaining 4 Remaining resource is  <{remaining}>
  done 4 Exiting when remaining is empty or no queue has more resource request:  <{remaining}>
  no-weight 4 Exiting when total weight is 0
  no-minimum 4> job {name} MinResources is null.
  minimum 5> job {name} min resource <{minimum}>, queue {queue} capability <{limit}> allocated <{allocated}> inqueue <{inqueue}> elastic <{elastic}>
  inqueue 5> job {name} inqueue {fits}
  victims 4 Victims from proportion plugins are {tasks}
  overused 3 Queue <{queue}> is overused: deserved <{deserved}>, allocated <{allocated}>, share <{share}>
  refused 3 Queue <{queue}>: deserved <{deserved}>, allocated <{allocated}>; Candidates total request <{request}>{name:.0}
  refused 3@log-names Queue <{queue}>: deserved <{deserved}>, allocated <{allocated}>; Candidate <{name}>: resource request <{request}>
  allocate 4 [proportion] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>
  allocate 4@log-names Proportion AllocateFunc: task <{task}>, resreq <{request}>,  share <{share}>
  deallocate 4 [proportion] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>
  deallocate 4@log-names Proportion EvictFunc: task <{task}>, resreq <{request}>,  share <{share}>

capacity.go capacity ?
  total 4 The total resource is <{total}>
  allocate 4 [capacity] AllocateFunc: task <{task}>, resreq <{request}>, share <{share}>
  allocate 4@log-names Capacity AllocateFunc: task <{task}>, resreq <{request}>,  share <{share}>
  deallocate 4 [capacity] DeallocateFunc: task <{task}>, resreq <{request}>, share <{share}>
  deallocate 4@log-names Capacity EvictFunc: task <{task}>, resreq <{request}>,  share <{share}>

overcommit.go overcommit
  enter 5 Enter overcommit plugin ...
  invalid 0 Invalid input {factor:.6f} for overcommit-factor, reason: overcommit-factor cannot be less than 1, using default value: {default:.6f}.
  leave 5 Leaving overcommit plugin.
  best-effort 4> Job <{job}> is bestEffort, permit to be inqueue.
  sufficient 4> Sufficient resources, permit job <{job}> to be inqueue
  overused 4> Resource in cluster is overused, reject job <{job}> to be inqueue

resourcequota.go resourcequota
  refused 4> enqueueable false for job: {job}, because :{message}

sla.go sla
  enter 4 Enter sla plugin ...
  global 4 Global job waiting time is {time}.
  invalid 0 Invalid global waiting time setting: {time} in sla plugin.
  leave 4 Leaving sla plugin.

rescheduling.go rescheduling
  enter 5 Enter rescheduling plugin ...
  leave 5 Leaving rescheduling plugin.
  not-due 3 It is not the time to execute rescheduling strategies.
  strategy 4 strategy: {strategy}

low_node_utilization.go rescheduling
  above 4> The resource utilization of all nodes is above the threshold
  below 4> The resource utilization of all nodes is below the threshold
  untouched 4> The resource utilization of all nodes is below the target threshold

usage.go usage
  enter 5 Enter usage plugin ...
  leave 5 Leaving usage plugin ...

usage.go load ?
  estimator 4 Usage estimator config: requestRatio={requests:.2f} burstRatio={bursts:.2f} riskThreshold={risky:.2f} riskFactor={factor:.2f} beCPU={cpu:.2f} beMemory={memory:.2f}
  thresholds 4 Usage threshold config: cpuThreshold={cpu:.2f} memThreshold={memory:.2f}
  measured 4~ node:{node}, cpu usage:{cpu}, mem usage:{memory}, metrics time is {time}, shadowCPUEst: {estimated_cpu}, shadowMemEst: {estimated_memory}
  measured 4~@usage-shadow-load node:{node}, cpu usage:{cpu}, mem usage:{memory}, metrics time is {time}
  stale 4~ The period(10m) is empty or the usage metrics data is not updated for more than 5m0s minutes, Usage plugin filter for task {task} on node {node} pass, metrics time is {time}
  limits 4~ predicateFn cpuThreshold:{cpu}, memThreshold:{memory}
  limits 4~@usage-shadow-load predicateFn cpuUsageAvg:{cpu},predicateFn memUsageAvg:{memory}
  cpu 3~ Node {node} cpu usage {percent:.6f} exceeds the threshold {threshold:.6f}
  memory 3~ Node {node} mem usage {percent:.6f} exceeds the threshold {threshold:.6f}
  pass 4~ Usage plugin filter for task {task} on node {node} pass.
  score 4~ Node {node} score: realCPU={cpu:.2f} realMem={memory:.2f} shadowCPU=… shadowMem=… cpuCapacity={cpu_capacity:.2f} memCapacity={memory_capacity:.2f} cpuComp=… memComp=… score={score:.2f} (max=100)
  unscored 4~ The period(10m) is empty or the usage metrics data is not updated for more than 5m0s minutes, Usage plugin score for task {task} on node {node} is 0, metrics time is {time}
  cpu-usage 4~ Node {node} cpu usage is {percent:.6f}.
  memory-usage 4~ Node {node} memory usage is {percent:.6f}.
  task-score 4~ Node {node} score for task {name} is {score:.6f}.
  deallocate 4 Usage plugin Deallocate: task {task}, snapshot-based subtraction

gang.go gang
  job-order 4 Gang JobOrderFn: <{left}> is ready: {ready}, <{right}> is ready: {other}
  sub-job-order 4 Gang SubJobOrderFn: <{left}> is ready: {ready}, <{right}> is ready: {other}
  kept 4 Can not preempt task <{task}> because job {job} ready num({ready}) <= MinAvailable({minimum}) for gang-scheduling
  victims 4 Victims from Gang plugins, victims={tasks} preemptor={preemptor}

priority.go priority
  task-order 4 Priority TaskOrder: <{left}> priority is {priority}, <{right}> priority is {other}
  job-order 4 Priority JobOrderFn: <{left}> priority: {priority}, <{right}> priority: {other}
  sub-job-order 4 Priority SubJobOrderFn: <{left}> priority: {priority}, <{right}> priority: {other}
  job 4 [priority] Can not preempt task <{task}> because preemptee job has greater or equal job priority ({theirs}) than preemptor ({ours})
  job 4@log-names Can not preempt task <{task}>because preemptee job has greater or equal job priority ({theirs}) than preemptor ({ours})
  task 4 [priority] Can not preempt task <{task}> because preemptee task has greater or equal task priority ({theirs}) than preemptor ({ours})
  task 4@log-names Can not preempt task <{task}>because preemptee task has greater or equal task priority ({theirs}) than preemptor ({ours})
  victims 4 [priority] Victims from Priority plugin are {tasks}
  victims 4@log-names Victims from Priority plugins are {tasks}
  unified 4 Victims from Priority UnifiedEvictableFn are {tasks}

predicates.go view ?
  allocate 4 predicates, allocate {node}
  added 4 predicates, update pod {task} allocate to node [{node}]
  deallocate 4 predicates, deallocate {node}
  removed 4 predicates, update pod {task} deallocate from node [{node}]
  missing 0 predicates, remove pod {task} from node [{node}] error: no corresponding pod {name} in pods of node {node}
  refused 0 Reserve plugin VolumeBinding failed for pod {task}: …

predicates.go filter ?
  pods 4~ NodePodNumber predicates Task <{task}> on Node <{node}> failed, allocatable <{most}>, existed <{there}>
  skipped 5> The predicate of plugin {filter} will skip execution for pod <{task}>, because the status returned by pre-predicate is skip

resource_strategy_fit.go strategy ?
  enter 5 Enter resourceStrategyFit plugin ...
  leave 5 Leaving resourceStrategyFit plugin. … ...
  pass 5~ proportional policy filter for task <{task}> on node <{node}> pass.

dynamicresources.go filter ?
  claims 5> "pod resource claims" pod="{task}" resourceclaims=[]

job_info.go job ?
  valid 4 job {name}/{namespace} actual: {roles}, ji.TaskMinAvailable: {minima}
"""  # noqa: E501
"""A source file with the first part of its keys, then its messages: the rest of the key, the -v level, the text.

`?` behind a file: the levels are not certain. Behind a level, `~`: written by parallel workers or while ranging over a
map, so that order means nothing; `>`: the line belongs to the event that comes after it; `@change`: the text of
releases that still have this older form, in a row of its own below the newest one, whose blanks it may use. `{name:.0}`
prints nothing: such a row needs it.
"""

MESSAGES: tuple[LogMessage, ...] = tuple(parse_messages(MESSAGE_ROWS))
MESSAGE_BY_KEY: Mapping[str, LogMessage] = {message.key: message for message in MESSAGES if not message.older}


def messages_of_release(older: Collection[str]) -> Mapping[str, LogMessage]:
    """The messages of a release that has these older forms."""
    return {**MESSAGE_BY_KEY, **{message.key: message for message in MESSAGES if message.older in older}}


@cache
def _patterns_by_file() -> Mapping[str, Sequence[tuple[Sequence[str], LogMessage]]]:
    return group_by_key((message.file, (message.fixed_parts, message)) for message in MESSAGES)


def recognise_message(file: str, text: str) -> LogMessage | None:
    """The message that a line of a log is, by its file and text."""
    return next(
        (message for parts, message in _patterns_by_file().get(file, ()) if has_parts_in_order(text, parts)), None
    )
