interface LogEventRow {
  readonly level: string;
  readonly when: string;
  /** Beside those that all lines have. */
  readonly fields: string;
  /** The console shows what happens to the service, and nothing that comes with each call. */
  readonly isOnConsole: boolean;
}

function line(level: string, when: string, fields = ''): LogEventRow {
  return { level, when, fields, isOnConsole: false };
}

function happening(level: string, when: string, fields = ''): LogEventRow {
  return { level, when, fields, isOnConsole: true };
}

/**
 * The values of the field `event` in log lines, with their level, when they come and what they hold: docs/reference/log.md is made of
 * this table (`npm run docs`). The names are stable, for alerts and searches.
 */
export const logEvents = {
  start: line('info', 'a server starts', '`node`'),
  'modules-loaded': line(
    'debug',
    'main thread and workers have loaded the modules',
    'ms: `codeMs` since the process began, then `modulesMs` on the main thread, then `workersMs`',
  ),
  ready: happening(
    'info',
    'it listens, workers have loaded',
    '`url`, `metricsUrl`, `transport`, `ms`',
  ),
  serving: line(
    'info',
    '`tandem serve` is ready, all processes are: instead of the text that a terminal gets',
    '`url`, `mcpUrl`, `metricsUrl`, `consoleUrl`, `processes`, `workers`, `procedures`, `ms`',
  ),
  'start-failed': line('error', 'a mounted service could not start; calls are -32003'),
  'variable-unknown': line('warn', 'a variable `TANDEM_*` is misspelt', '`variable`'),
  'synchronous-inline': line(
    'warn',
    'a router without modules runs synchronous procedures inline',
    '`procedures`',
  ),
  'no-procedures': line('warn', 'a router has none'),
  'returns-missing': line('info', 'results are neither projected nor checked', '`procedures`'),
  'pattern-limits': line(
    'info',
    'strings without `maxLength` got one, since their patterns take more than linear time',
    '`strings`',
  ),
  'group-unused': line('warn', 'no procedure names it: no workers', '`group`'),
  'mcp-sign-in': line(
    'warn',
    '`mcpAuthorizationServers` without `authenticate`: agents need not sign in; with `mcpScopes`, `authenticate` gives no list of scopes: all are refused',
  ),
  'mcp-tools': line(
    'warn',
    'a pattern of `mcpTools` matches nothing; a tool has a param whose name hosts refuse',
  ),
  'http-api': line(
    'warn',
    "a pattern of `httpProcedures` matches nothing, a name fits no URL, or bytes can't come by their declared type",
  ),
  'console-absent': line('info', 'the console was not built'),
  'http-warning': line('warn', 'open CORS, too few open files'),
  'request-foreign': line(
    'warn',
    'a host is not in `allowedHosts` (403), or the origin of a page is not in `corsOrigin`',
    '`host` or `origin`',
  ),
  transport: line('info; warn', 'which server serves, and why; it is not the one to expect'),
  'one-core': happening('warn', 'workers and main thread share one core'),
  'not-niced': happening('warn', 'the priority of workers stayed'),
  reloaded: happening('info', 'new modules serve', '`modules`, `ms`'),
  'reload-unchanged': happening('info', 'nothing had changed'),
  'reload-superseded': happening('info', 'given up for another reload'),
  'reload-incomplete': happening('warn', 'processes ended meanwhile', '`ended`, `reloaded`'),
  'reload-failed': happening('error', 'the old modules serve; `msg` says why'),
  'reload-needed': happening(
    'warn',
    'no worker is left, or one has loaded a changed `file`: reloading by itself',
    '`file`',
  ),
  'teardown-failed': happening('error', 'it failed, or took too long', '`detail`'),
  'watch-failed': happening('warn', 'files are not watched', '`detail`'),
  'codegen-written': line('info', 'the file of `--codegen` is new'),
  'codegen-failed': line('error', 'the file of `--codegen` could not be written; `msg` says why'),
  placement: happening(
    'warn',
    'a procedure that blocked three times moved to workers',
    '`method`, `place`, `reason`',
  ),
  'main-thread-blocked': happening(
    'warn',
    'a procedure blocked the main thread, once an episode',
    '`method`, `ms`',
  ),
  'main-thread-freed': happening('warn', '60 s without', '`method`, `count`, `ms`'),
  'main-thread-stack': line(
    'warn',
    'the main thread stands still: after 1 s, and after half of `watchdogTimeoutMs`',
    '`method` or `methods`, `ms`, `detail`: [the stack](../operations.md#what-a-thread-is-in)',
  ),
  'call-failed': line(
    'error',
    '-32603',
    '`ref`, `method`, `detail`: the stack; `calls`: a handler batch of so many failed',
  ),
  'result-too-large': line('warn', 'above `maxReplyBytes`; once a minute', '`method`, `detail`'),
  'result-mismatch': line(
    'warn',
    "sent although it does not match (`checkResults: 'log'`)",
    '`method`, `detail`',
  ),
  'result-accessors-lost': line(
    'warn',
    "JSON left out the accessors of a result's class; once a procedure and thread, of its first 10 results",
    '`method`, `detail`',
  ),
  'procedure-log': line(
    'its own',
    '`context.log`; 1000 a second per thread',
    '`method`, `id`, `fields`',
  ),
  'procedure-exit': line(
    'error',
    '`process.exit` in a worker: -32603',
    '`ref`, `method`, `detail`',
  ),
  'broadcast-failed': happening(
    'error',
    'a broadcast threw in a thread',
    '`broadcast`, `place`, `detail`',
  ),
  'hook-failed': line(
    'error',
    'a hook, a store, `fairBy` or `weightOf` failed',
    '`ref`, `hook`, `detail`',
  ),
  'observer-failed': line('error', 'first failure of `onCall`', '`detail`'),
  'worker-lost': happening(
    'error',
    'a thread ended by itself; `msg` says how sure the name is',
    '`reason`, `detail`, `method` or `methods`',
  ),
  'worker-killed': happening(
    'warn',
    'ended at a deadline; `detail` is [the stack](../operations.md#what-a-thread-is-in)',
    '`method`, `ms`, `detail`',
  ),
  'concurrency-held': happening(
    'warn',
    'a handler goes on after its deadline and holds a place of `maxConcurrency`; once a second for each procedure',
    '`method`',
  ),
  'log-level': line(
    'warn',
    'the admin socket changed the log level, or it went back; at any level',
    '`logLevel`, `forMs`',
  ),
  'stacks-unavailable': line(
    'warn',
    "the inspector can't be used (Node's permission model); once",
    '`detail`',
  ),
  'worker-restart-failed': happening(
    'error',
    'not replaced yet; changed files are named, unless a reload is on its way',
    '`detail`, `retryMs`',
  ),
  'worker-retired': happening('info', 'old, replaced', '`calls`, `memory`'),
  'worker-error': happening('error', 'an error outside of calls', '`detail`'),
  'worker-garbled': happening('error', 'an impossible message', '`detail`'),
  'shed-begins': happening('warn', 'calls are refused with -32000', '`count`'),
  'shed-ends': happening('warn', 'none was refused for 5 s', '`count`, `ms`'),
  'connection-limit-begins': happening(
    'warn',
    'connections are closed for `maxConnections`',
    '`maxConnections`',
  ),
  'connection-limit-ends': happening('warn', 'none was closed for 5 s', '`count`, `ms`'),
  signal: line('info', 'it ends the service', '`signal`'),
  'drain-begins': happening('info', 'the service ends', '`inFlight`'),
  'drain-ends': line('info', 'it has drained', '`ms`'),
  'unhandled-rejection': line('error', 'a promise nobody handled', '`detail`'),
  'uncaught-exception': line(
    'error',
    'outside of calls; the process goes on if a module threw it',
    '`detail`',
  ),
  'process-exit': happening(
    'error',
    '`process.exit` on the main thread',
    '`code`, `detail`, `method` or `methods`',
  ),
  'process-replacing': happening(
    'warn',
    'a process is being replaced',
    '`reason`: `zombies`, `memory`, `asked`',
  ),
  'process-replaced': happening('info', 'its successor serves'),
  'process-replace-failed': happening(
    'error',
    'the successor failed, and the old process serves on',
  ),
  'process-stop-failed': happening(
    'error',
    'a process had not ended 5 s after the grace time: killed',
  ),
  'process-stuck': happening(
    'error',
    'silent for `watchdogTimeoutMs`: killed',
    '`method` or `methods`',
  ),
  'process-message-ignored': happening('warn', 'not a message'),
  'process-version-differs': happening(
    'warn',
    "the package was updated: a successor's metrics are its own until the service is restarted",
  ),
  'process-start-retried': happening('warn', 'started again'),
  'supervisor-fault': happening('error', 'the supervisor goes on', '`detail`; `count`, `ms`'),
  'process-lost': happening(
    'error',
    'a server process ended; another one starts',
    '`code` or `signal`, `retryMs`, `detail` if it could say why',
  ),
  'nats-disconnected': happening('warn', 'it tries to come back'),
  'nats-reconnected': happening('info', 'it is back', '`afterMs`'),
  'nats-denied': happening('error', 'missing permissions', '`operation`, `subject`'),
  'member-joined': happening('info', 'it has answered', '`member`, `version`'),
  'member-refused': line('warn', 'more than 1000 members', '`member`, `most`'),
  'member-silent': happening('warn', 'no new calls for it', '`member`'),
  'member-back': happening('info', 'heard again', '`member`'),
  'member-left': happening('info', 'drained', '`member`'),
  'member-gone': happening('warn', 'its calls are -32002', '`member`'),
  'contract-refused': line(
    'warn',
    'with it the contracts of all members are above 512 MB',
    '`contract`, `bytes`, `most`',
  ),
  'contracts-differ': happening('warn', 'members serve different procedures', '`contracts`'),
  'procedure-shadowed': happening('warn', 'the gateway serves it itself', '`method`'),
  'nats-malformed': line('warn', 'ignored message', '`subject`, `reason`'),
  'nats-fault': happening('error', 'unexpected error', '`subject`, `detail`'),
  'log-limited': line(
    'of the lines',
    'lines were left out',
    '`limited`, `count`, `method`, `hook` or `broadcast`, `group`, `process`',
  ),
  'output-lost': line('warn', 'lines were lost', '`count`'),
  'call-slow': line(
    'warn',
    '[a slow call](../operations.md#slow-calls)',
    'as `call`, `runMs`, `busyMs`',
  ),
  call: line(
    'info',
    '`--access-log`: a call has ended',
    'as [the access log](../operations.md#access-log)',
  ),
  stream: line(
    'info',
    '`--access-log`: a stream has ended',
    '`code`, `values`, `characters`, `ms`',
  ),
} satisfies Record<string, LogEventRow>;

export type LogEvent = keyof typeof logEvents;
