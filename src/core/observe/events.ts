/** The values of the field `event` in log lines. They are stable, for alerts and searches. docs/operations.md lists them. */
export const logEvents = {
  start: 'a server starts',
  ready: 'a server listens, and its workers have loaded the modules',
  'start-failed': 'a service that is mounted could not start: its calls are answered -32003',
  'synchronous-inline': 'synchronous procedures of a router without modules run on the main thread',
  'no-procedures': 'a router that is served has no procedure',
  'returns-missing':
    'procedures without returns, or streams without yields: what they return is neither projected nor checked',
  'group-unused': 'a group of workers is configured that no procedure names: it gets no workers',
  'mcp-tools': 'a pattern of mcpTools names no procedure',
  'console-absent': 'a checkout whose console was not built: how to build it',
  'http-warning': 'something about the HTTP server that an operator should know',
  'one-core':
    'a service with workers starts where there is one core, which they share with the front end',
  'not-niced': 'the priority of the workers could not be lowered',
  reloaded: 'the modules were loaded anew and serve',
  'reload-unchanged': 'a reload found nothing changed',
  'reload-superseded': 'a reload was given up: another, or a replacement, was asked for',
  'reload-incomplete':
    'server processes ended during a reload; their successors load the files as they are',
  'reload-failed': 'a reload failed; the modules serve as they were',
  'reload-needed': 'no worker is left, and the modules have changed: they are reloaded',
  'teardown-failed': 'a teardown failed or did not end',
  'watch-failed': 'watching the files of the modules failed',
  placement: 'a procedure runs in the workers from now on, because it blocked the front end',
  'front-end-blocked':
    'a procedure, or the hook authenticate, held the front end, and every call waited',
  'front-end-freed': 'it has not held the front end for 60 s: how often it did, over how long',
  'call-failed': 'a call ended with -32603: its ref, and the stack',
  'result-too-large': 'a result was larger than maxReplyBytes: the caller got a -32004',
  'result-mismatch':
    'a result that does not match returns was sent: once a minute for each procedure and thread',
  'result-accessors-lost':
    'a result has accessors of its class, which JSON leaves out: once for each procedure and thread',
  'procedure-log': 'a procedure or a middleware wrote a line with context.log',
  'procedure-exit':
    'a procedure called process.exit in a worker: its call ended with -32603, the worker goes on',
  'hook-failed':
    'a hook threw something other than an RpcError: the ref its caller got, and the stack',
  'observer-failed': 'an onCall observer failed for the first time',
  'worker-lost':
    'a worker ended by itself: the procedure that it was in, or those that were under way there',
  'worker-killed': 'a worker was ended at the deadline of a call',
  'worker-restart-failed': 'a worker could not be replaced yet',
  'worker-retired': 'a worker has grown old, and is replaced by a fresh one',
  'worker-error': 'an error outside of any call in a worker',
  'worker-garbled': 'a worker sent an impossible message, such as a time that is not a number',
  'shed-begins': 'calls are refused with -32000 because there are too many',
  'shed-ends': 'no call was refused for 5 s: how many were, over how long',
  'connection-limit-begins': 'connections are closed because maxConnections are open',
  'connection-limit-ends': 'no connection was closed for 5 s: how many were, over how long',
  signal: 'a signal that ends the service has come',
  'drain-begins': 'no new connections; accepted calls are answered',
  'drain-ends': 'everything is answered, the workers have ended',
  'unhandled-rejection': 'a procedure left a rejected promise unhandled',
  'uncaught-exception':
    'an exception outside of any call: where a module threw it, the process goes on; otherwise it exits',
  'process-exit':
    'a procedure or a module called process.exit on the main thread: where, and what ran',
  'process-replacing': 'the supervisor replaces a server process, and why',
  'process-replaced': 'the successor of a server process serves',
  'process-replace-failed': 'a successor could not start; the old process serves on',
  'process-stop-failed': 'a server process did not end as it was told to',
  'process-stuck': 'the main thread of a server process is stuck; the process is killed',
  'process-message-ignored': 'something other than a message came from a server process',
  'process-start-retried': 'a process ended before it was ready; it is started again',
  'supervisor-fault': 'an unexpected error in the supervisor, which goes on',
  'process-lost': 'a server process ended by itself; another takes its place',
  'nats-disconnected': 'the connection to NATS is lost; the client tries to come back',
  'nats-reconnected': 'the connection to NATS is back',
  'nats-denied': 'the permissions of the NATS server do not allow what this process needs',
  'member-joined': 'a gateway has found a member',
  'member-refused': 'a gateway has as many members as it takes: another one gets no calls',
  'member-silent': 'a member is silent and gets no new calls',
  'member-back': 'a silent member is heard of again',
  'member-left': 'a member that drained has gone',
  'member-gone': 'a member is gone; calls that it had are answered with -32002',
  'contracts-differ': 'members serve different contracts',
  'procedure-shadowed': 'members serve a procedure that the gateway serves itself',
  'nats-malformed':
    'a message on a subject of gateways or members is none of theirs: it is ignored',
  'nats-fault': 'an unexpected error at a message of NATS; the connection goes on',
  'log-limited':
    'more lines of an event came in a second than are written: how many were not, and of which procedure',
  'output-lost': 'lines were lost because the reader of the log was too slow: how many',
  call: 'access log: a call has ended',
  stream: 'access log: a stream has ended',
} as const;

export type LogEvent = keyof typeof logEvents;
