import { type Overload, overloads } from '../base/overloads.ts';

/** One series, as /metrics shows it. docs/reference/metrics.md is made of these tables (`npm run docs`). */
export interface MetricRow {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of the labels whose values come with what is measured. */
  readonly measured?: readonly string[];
  /** Of a gauge that is shown as a counter. */
  readonly type?: 'counter';
  /** A gauge with a value for each value of this label. */
  readonly by?: string;
}

/** The metrics of calls, each with labels of its own. */
export const callMetrics = {
  calls: {
    name: 'tandem_calls_total',
    help: 'Calls that ended, by procedure, error code (0: a result) and place (none: refused before it had one).',
    measured: ['procedure', 'code', 'place'],
  },
  wait: {
    name: 'tandem_call_wait_seconds',
    help: 'Time of a call before its handler ran: in the queue and on the way to the worker and back; inline from 1 ms.',
    measured: ['procedure'],
  },
  duration: {
    name: 'tandem_call_duration_seconds',
    help: 'Time of a call from its arrival to its answer. What is longer than the wait was in the handler.',
    measured: ['procedure'],
  },
  batches: {
    name: 'tandem_handler_batch_calls',
    help: 'Calls for which a batch handler ran at once, by procedure and place.',
    measured: ['procedure', 'place'],
  },
  affinity: {
    name: 'tandem_affinity_total',
    help: 'Calls with affinity that went to the worker of their key (hit), to another one (steal), or had no key (none), by procedure. Many steals: the workers are busy, or a few keys have most calls.',
    measured: ['procedure', 'outcome'],
  },
  affinityWait: {
    name: 'tandem_affinity_wait_seconds_total',
    help: 'How long those calls waited before they went to a worker, by procedure and outcome.',
    measured: ['procedure', 'outcome'],
  },
  busy: {
    name: 'tandem_call_busy_seconds_total',
    help: 'For how long calls held their threads by the clock, by procedure and place; without code behind an await and generators.',
    measured: ['procedure', 'place'],
  },
} as const satisfies Record<string, MetricRow>;

/** What holds the main thread, each with the label `procedure`. */
export const blockedMetrics = {
  times: {
    name: 'tandem_main_thread_blocked_total',
    help: 'How often a procedure held the main thread for 25 ms of CPU time or more, by procedure.',
    measured: ['procedure'],
  },
  seconds: {
    name: 'tandem_main_thread_blocked_seconds_total',
    help: 'For how long procedures held the main thread in those times.',
    measured: ['procedure'],
  },
} as const satisfies Record<string, MetricRow>;

/** Where procedures run: a series for each one that was called, of each process, with the value 1. */
export const placeMetric = {
  name: 'tandem_procedure_place',
  help: 'Where the calls of a procedure run now, and why: 1 for each procedure that was called, by place and reason.',
  measured: ['procedure', 'place', 'reason'],
} as const satisfies MetricRow;

/** A series for each limit that refuses, and each reason. */
const refused = Object.fromEntries(
  Object.entries(overloads).map(([overload, { limit, reason }]) => {
    const help = 'Calls, requests and connections refused because there was too much, by limit.';
    return [overload, { name: 'tandem_refused_total', help, labels: { limit, reason } }];
  }),
) as unknown as Record<Overload, MetricRow>;

const deaths = {
  name: 'tandem_worker_deaths_total',
  help: 'Worker threads that ended by themselves, by reason.',
};

/** What each group of workers counts for itself. */
export const poolCounterTable = {
  frames: {
    name: 'tandem_frames_total',
    help: 'Messages with calls sent to workers.',
  },
  framedCalls: {
    name: 'tandem_frame_calls_total',
    help: 'Calls sent to workers in those messages.',
  },
  expressCalls: {
    name: 'tandem_express_calls_total',
    help: 'Short calls that ended on the express worker.',
  },
  deathsByExit: { ...deaths, labels: { reason: 'exit' } },
  deathsByMemory: { ...deaths, labels: { reason: 'memory' } },
  deathsByError: { ...deaths, labels: { reason: 'error' } },
  kills: {
    name: 'tandem_worker_kills_total',
    help: 'Worker threads ended because a call did not return at its deadline.',
  },
  retirements: {
    name: 'tandem_worker_retirements_total',
    help: 'Worker threads replaced because they had grown old (maxWorkerMemory), or held too many calls that outlive their deadline.',
  },
  restarts: {
    name: 'tandem_worker_restarts_total',
    help: 'Worker threads started in place of one that ended, was killed or has grown old.',
  },
  zombies: {
    name: 'tandem_worker_zombies_total',
    help: 'Terminated worker threads that native code did not let go within 2 s.',
  },
} as const satisfies Record<string, MetricRow>;

/** Counters: summed over all processes of a service, those that have ended included. */
export const counterTable = {
  shed: {
    name: 'tandem_calls_shed_total',
    help: 'Calls refused with -32000 because too many waited, or they waited too long.',
  },
  ...refused,
  ...poolCounterTable,
  reloads: {
    name: 'tandem_reloads_total',
    help: 'Reloads of the modules that took effect.',
  },
  failedReloads: {
    name: 'tandem_reload_failures_total',
    help: 'Reloads of the modules that failed, those that the service began by itself among them.',
  },
  refusedConnections: {
    name: 'tandem_connections_refused_total',
    help: 'Connections closed because maxConnections were open.',
  },
  lostOutput: {
    name: 'tandem_output_lost_total',
    help: 'Writes to stdout and stderr, and lines of the log, that were lost: nobody reads them, the disk is full, or a given logger throws.',
  },
  refusedBodies: {
    name: 'tandem_bodies_refused_total',
    help: 'Requests refused with 503 because maxBodyMemory was taken.',
  },
  streams: {
    name: 'tandem_streams_total',
    help: 'Streams that have ended.',
  },
  failedStreams: {
    name: 'tandem_streams_failed_total',
    help: 'Streams among them that ended with an error; left or drained ones have not failed.',
  },
  streamValues: {
    name: 'tandem_stream_values_total',
    help: 'Values that streams gave, those of open streams included.',
  },
  cutReplies: {
    name: 'tandem_replies_cut_total',
    help: 'Connections closed because maxReplyMemory was taken by replies that nobody read.',
  },
  remoteRequeued: {
    name: 'tandem_remote_requeued_total',
    help: 'Calls that were sent again, since they had not come to a member, or not been run there.',
  },
  remoteLost: {
    name: 'tandem_remote_lost_total',
    help: 'Calls with members of which nobody knows whether they ran: answered with -32002.',
  },
  natsReconnects: {
    name: 'tandem_nats_reconnects_total',
    help: 'How often the connection to NATS was lost and came back.',
  },
} as const satisfies Record<string, MetricRow>;

const inFlight = {
  name: 'tandem_calls_in_flight',
  help: 'Calls that have not ended: inline ones that wait, and those that workers hold.',
  by: 'place',
};
const bodyMemory = {
  name: 'tandem_body_memory_bytes',
  help: 'Memory for request bodies: in_use by those that arrive, wait or are with workers; kept for the next large ones.',
};
const workers = {
  name: 'tandem_workers',
  help: 'Worker threads by state: active ones serve, spares stand ready, starting ones load modules, zombies were terminated and native code does not let them go.',
};

const orphans = {
  name: 'tandem_orphaned_calls',
  help: 'Calls and generators that still run though nobody waits for them: their callers have left, or their deadline has passed. place="inline": on the main thread; without it: in workers.',
};

/** What is now: one series for each process that runs, named by its label `process`. */
export const gaugeTable = {
  requestsInFlight: {
    name: 'tandem_requests_in_flight',
    help: 'Requests with calls that have not been answered.',
  },
  callsInFlight: inFlight,
  expressCallsInFlight: {
    name: 'tandem_express_calls_in_flight',
    help: 'Short calls that the express worker holds; they count as in flight in workers, too.',
  },
  openStreams: {
    name: 'tandem_streams_open',
    help: 'Streams that are open.',
  },
  queued: {
    name: 'tandem_queue_calls',
    help: 'Calls that wait for a worker.',
  },
  remoteMembers: {
    name: 'tandem_remote_members',
    help: 'Members on other machines that take calls.',
  },
  remoteInFlight: {
    name: 'tandem_remote_in_flight',
    help: 'Calls that are with members.',
  },
  remoteQueued: {
    name: 'tandem_remote_queue_calls',
    help: 'Calls that wait for a member.',
  },
  activeWorkers: { ...workers, labels: { state: 'active' } },
  spareWorkers: { ...workers, labels: { state: 'spare' } },
  startingWorkers: { ...workers, labels: { state: 'starting' } },
  leftCalls: { ...orphans, labels: { by: 'caller' } },
  overdueCalls: { ...orphans, labels: { by: 'deadline' } },
  inlineLeftCalls: { ...orphans, labels: { by: 'caller', place: 'inline' } },
  inlineOverdueCalls: { ...orphans, labels: { by: 'deadline', place: 'inline' } },
  zombieWorkers: { ...workers, labels: { state: 'zombie' } },
  workerCpu: {
    name: 'tandem_worker_cpu_seconds_total',
    help: 'CPU time of the threads of each seat of a worker, the loading of their modules included. Linux only.',
    type: 'counter',
    by: 'worker',
  },
  workerHeap: {
    name: 'tandem_worker_heap_bytes',
    help: 'Memory of each worker that maxWorkerMemory bounds: its heap, garbage included, and what belongs to it outside of the heap.',
    by: 'worker',
  },
  bodyMemoryInUse: { ...bodyMemory, labels: { state: 'in_use' } },
  bodyMemoryKept: { ...bodyMemory, labels: { state: 'kept' } },
  replyMemory: {
    name: 'tandem_reply_memory_bytes',
    help: 'Replies that their clients have still to take.',
  },
  connections: {
    name: 'tandem_connections',
    help: 'Open client connections. Of servers that the service is mounted in: WebSockets alone.',
  },
  sockets: {
    name: 'tandem_sockets',
    help: 'WebSockets among the open connections.',
  },
  eventLoopDelayP50: {
    name: 'tandem_event_loop_delay_p50_seconds',
    help: 'How late timers of the main thread fired, over some seconds before the scrape: median.',
  },
  eventLoopDelayP99: {
    name: 'tandem_event_loop_delay_p99_seconds',
    help: 'How late timers of the main thread fired: 99th percentile.',
  },
  eventLoopDelayMax: {
    name: 'tandem_event_loop_delay_max_seconds',
    help: 'How late timers of the main thread fired: longest.',
  },
  residentMemory: {
    name: 'tandem_process_resident_memory_bytes',
    help: 'Resident memory of the process, all its threads.',
  },
  heapUsed: {
    name: 'tandem_process_heap_used_bytes',
    help: 'JavaScript heap of the main thread in use.',
  },
  cpu: {
    name: 'tandem_process_cpu_seconds_total',
    help: 'CPU time of the process, user and system, all its threads.',
    type: 'counter',
  },
  startTime: {
    name: 'tandem_process_start_time_seconds',
    help: 'When the process started, Unix seconds.',
  },
} as const satisfies Record<string, MetricRow>;

type CounterName = keyof typeof counterTable;

/** How often each thing has happened: who sees it happen adds to it. */
export type Counts = Record<CounterName, number>;

/** A count for each row of a table, from 0. */
export function zeroCounts<Name extends string>(
  rows: Readonly<Record<Name, MetricRow>>,
): Record<Name, number> {
  return Object.fromEntries(Object.keys(rows).map((name) => [name, 0])) as Record<Name, number>;
}
export type GaugeName = keyof typeof gaugeTable;
