import { isLoopback } from '../base/loopback.ts';
import { nearestManifest } from '../base/package-files.ts';
import {
  completeGroups,
  type GivenGroups,
  groupOptionKinds,
  threadsOf,
  workerGroups,
} from './groups.ts';
import {
  addresses,
  bytes,
  duration,
  file,
  fileMode,
  headerNames,
  hosts,
  identifiers,
  integer,
  natsServers,
  oneOf,
  onOff,
  origins,
  portOr,
  procedurePatterns,
  rate,
  scopes,
  serviceNames,
  subjectPrefixes,
  switchOrOneOf,
  text,
  textOrNone,
} from './kinds.ts';
import { coresHere, workerMemoryHere } from './machine.ts';
import { optionsIn } from './option.ts';

/** A version as semver has it. */
const semver =
  /^(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})\.(?:0|[1-9]\d{0,8})(?:-[\w.-]{1,64})?(?:\+[\w.-]{1,64})?$/;

/** The version in the nearest package.json at `folder` or above it; 0.0.0 if there is none, or no usable one. */
export function packageVersion(folder: string): string {
  const { version } = nearestManifest(folder);
  return typeof version === 'string' && semver.test(version) ? version : '0.0.0';
}

/** A body becomes a string when it is parsed, and the longest string of V8 has 2^29 - 24 UTF-16 units. */
const maxTextBytes = 511 * 1024 ** 2;

const defaultRequestMs = 60_000;

/** Default of the memory for all bodies, and for all replies. The largest single one must fit. */
const defaultMemory = 256 * 1024 ** 2;

function atLeast(largest: 'maxBodyBytes' | 'maxReplyBytes') {
  return {
    text: `256mb, or ${largest} if larger`,
    from: (given: Readonly<Record<string, unknown>>) => {
      const bytes = given[largest];
      return typeof bytes === 'number' ? Math.max(defaultMemory, bytes) : defaultMemory;
    },
  };
}

/** Whether calls are taken where the console would be. */
function isConsolePath(path: string): boolean {
  return path === '/console' || path.startsWith('/console/');
}

const networkOption = optionsIn('Network');
const processOption = optionsIn('Processes');
const workerOption = optionsIn('Workers');
const timeOption = optionsIn('Time');
const limitOption = optionsIn('Limits');
const protocolOption = optionsIn('Protocol');
const natsOption = optionsIn('NATS');
const logOption = optionsIn('Log');

/** All options. The flags, the environment variables, the help and the table in docs/reference follow from this table. */
export const table = {
  host: networkOption({
    kind: text('address', 'a host name or an IP address', /^[A-Za-z0-9_.:%-]{1,255}$/),
    fallback: '127.0.0.1',
    about: 'Address to listen on; 0.0.0.0 means every IPv4 address, :: every address',
    reason: 'being reachable from other machines must be a decision, not a default',
  }),
  port: networkOption({
    kind: integer({ min: 0, max: 65535 }),
    fallback: 8000,
    variable: 'PORT',
    about: 'TCP port; 0 takes any free one',
    reason:
      'above 1023, so it needs no privilege; hosting platforms set PORT, and Kubernetes sets TANDEM_PORT for a service that is called tandem',
  }),
  socket: networkOption({
    kind: file(),
    fallback: '',
    about:
      'Unix socket to listen on in place of host and port (not those of metricsPort): its path, of at most 93 bytes; the file of a server that has died is replaced',
    reason: 'beside a proxy on the same machine no port is needed, and the file says who may call',
  }),
  socketMode: networkOption({
    kind: fileMode(),
    fallback: 0o600,
    about: 'Permissions of the file of the Unix socket; who may write to it may call',
    reason:
      'only this user: a proxy of another one must be let in by a decision, 660 with its group say',
  }),
  path: networkOption({
    // No `:` and no `*`: the router of uWebSockets.js reads them as patterns.
    kind: text('path', 'a path like /rpc', /^\/[A-Za-z0-9._~!$&'()+,;=@%/-]{0,255}$/),
    fallback: '/rpc',
    about: 'The one path that calls are posted to',
    reason: 'leaves the other paths to health checks and to other services of the host',
  }),
  transport: networkOption({
    kind: oneOf('auto', 'uws', 'node'),
    fallback: 'auto',
    about:
      'HTTP server: uWebSockets.js or node:http; auto: uWebSockets.js if its binary loads, and is known to be right or only this machine can connect',
    reason:
      'the native one is faster, but has no binary for every platform, and that for Node 20 refuses requests that arrive in pieces',
  }),
  corsOrigin: networkOption({
    kind: origins(),
    fallback: '*',
    about: 'Origins whose pages may call; * is any, none is none; repeatable',
    reason:
      'an open service is as open to pages as to curl; list origins where only the network guards it',
  }),
  corsHeaders: networkOption({
    kind: headerNames(),
    fallback: Object.freeze([]),
    about:
      'Request headers that pages may send beside content-type, authorization, traceparent and rpc-timeout-ms; repeatable',
    reason:
      'a browser asks before it sends any other header, and only the operator knows which are read',
  }),
  corsCredentials: networkOption({
    kind: onOff(),
    fallback: false,
    about:
      'Let pages of the origins in corsOrigin send cookies and client certificates along; not with corsOrigin *',
    reason:
      'such a call acts for whoever has logged in at that browser, so the origin must be named',
  }),
  allowedHosts: networkOption({
    kind: hosts(),
    fallback: Object.freeze([]),
    about: 'Hosts that a request may name, with any port or the one given; none: any; repeatable',
    reason:
      'only the operator knows its names; without the list a page can reach a local server through a name of its own (DNS rebinding)',
  }),
  trustedProxies: networkOption({
    kind: addresses(),
    fallback: Object.freeze([]),
    about:
      'Addresses and networks of proxies whose Forwarded and X-Forwarded-For tell the address of the caller; unix: whoever connects to the Unix socket; none: those headers are not read; repeatable',
    reason: 'anybody can send such a header; only the operator knows which proxies write it',
  }),
  fairBy: networkOption({
    kind: text(
      'key',
      'auto, address, auth.<member>, or header:<name>',
      /^(?:auto|address|auth\.[\w$-]{1,64}|header:[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})$/,
    ),
    fallback: 'auto',
    about:
      'What tells callers apart where something is shared out among them; auto: auth.sub, or auth itself where it is a text or a number, else the address; header: from trustedProxies only; in code also a function',
    reason:
      'who has logged in is one caller wherever they call from; behind one address are many who have not',
  }),
  tlsKey: networkOption({
    kind: file(),
    fallback: '',
    about: 'Private key in PEM form, not encrypted; with tlsCert the server speaks https',
    reason: 'most servers stand behind a proxy that ends TLS',
  }),
  tlsCert: networkOption({
    kind: file(),
    fallback: '',
    about: 'Certificate in PEM form, its chain behind it; read at start',
    reason: 'see tlsKey',
  }),
  hooks: networkOption({
    kind: file(),
    fallback: '',
    about:
      'Module that exports authenticate or onCall; tandem serve only, in code they are options',
    reason: 'only the operator knows who may call',
  }),
  forwardHeaders: networkOption({
    kind: headerNames(),
    fallback: Object.freeze([]),
    about: 'Request headers that procedures find in context.headers; repeatable',
    reason: 'each one is copied to a worker with every call, and may hold secrets',
  }),
  console: networkOption({
    kind: onOff(),
    fallback: {
      text: 'true where host is a loopback address and NODE_ENV is not production; false behind a mount and on a Unix socket',
      from: ({ host, socket, path }) =>
        isLoopback(String(host)) &&
        socket === '' &&
        process.env.NODE_ENV !== 'production' &&
        !isConsolePath(String(path)),
    },
    about: 'Serve /console/, a page to try procedures and to watch the service; / leads there',
    reason:
      'whoever develops a service wants it, and only this machine sees it; for others the operator decides',
  }),

  processes: processOption({
    kind: integer({ min: 1, max: 1024 }),
    fallback: 1,
    about: 'Server processes on the one port, each with workers of its own; tandem serve only',
    reason: 'one main thread keeps several workers busy; more are for many small calls',
  }),
  supervisor: processOption({
    kind: onOff(),
    fallback: true,
    about: 'Restart a server process that ends; tandem serve only',
    reason: 'some faults end a whole process; turn it off where the container is restarted',
  }),
  adminSocket: processOption({
    kind: file(),
    fallback: '',
    about:
      'Unix socket by which tandem stack, profile, log-level and heap reach a running service: its path, of at most 93 bytes; tandem serve only',
    reason:
      'anyone who can open it controls the service; its mode is 600, and without the option there is none',
  }),
  heapDir: processOption({
    kind: file('folder'),
    fallback: '',
    about: 'Folder in which tandem heap has workers write snapshots of their heaps, with mode 600',
    reason: 'a snapshot holds all params and secrets, so without the option there is none',
  }),
  maxProcessMb: processOption({
    kind: integer({ min: 64, max: 1_048_576, orZero: true }, 'mb'),
    fallback: 0,
    about: 'Resident memory in MB above which a process is replaced; 0: never',
    reason: 'only the operator knows what the modules need; a new one is ready before the old ends',
  }),
  watchdogTimeoutMs: processOption({
    kind: duration(2000, { orZero: true }),
    fallback: 30_000,
    flag: 'watchdog-timeout',
    about:
      'How long the main thread of a process may be stuck before the process is killed and started anew; 0: for ever',
    reason: 'a stuck main thread serves nobody; a machine that swaps is late, but not by so much',
  }),

  workers: workerOption({
    kind: groupOptionKinds.workers,
    fallback: {
      text: 'cores / processes - 1, at least 1',
      from: ({ processes }) => Math.max(1, Math.floor(coresHere().count / Number(processes)) - 1),
    },
    about:
      'Worker threads of a process, for CPU-bound procedures; cores: those of the machine, or as many as the CPU quota of its container allows, rounded down',
    reason: 'one core stays with the main thread, which every call passes',
  }),
  spareWorkers: workerOption({
    kind: groupOptionKinds.spareWorkers,
    fallback: 1,
    about:
      'Loaded threads that wait to replace one that dies; meanwhile short calls run on one of them where long ones hold every worker',
    reason: 'loading modules takes 100 ms and more, taking a spare takes none',
  }),
  groups: workerOption({
    kind: workerGroups(),
    fallback: Object.freeze({}),
    flag: 'group',
    about:
      'Groups of workers beside those above, each for the procedures that name it: how many workers (1 where nothing is said) and what else differs from the options of the service; repeatable',
    reason:
      'only the operator knows which procedures must not meet the rest, and what memory they need',
  }),
  maxWorkerMemory: workerOption({
    kind: groupOptionKinds.maxWorkerMemory,
    fallback: 0,
    about: 'Memory, garbage included, above which a worker is replaced, one at a time; 0: never',
    reason:
      'for modules that leak and cannot be mended; unlike workerMemoryMb it lets the calls in flight finish',
  }),
  workerMemoryMb: workerOption({
    kind: groupOptionKinds.workerMemoryMb,
    fallback: {
      text: '0; in a container with a memory limit: (limit / processes - 160) / threads, at least 64',
      from: ({ processes, workers, spareWorkers, groups, ...rest }) => {
        const own = { workers: Number(workers), spareWorkers: Number(spareWorkers) };
        const complete = completeGroups(groups as GivenGroups, { ...rest, ...own });
        return workerMemoryHere(Number(processes), threadsOf({ ...own, groups: complete }));
      },
    },
    about:
      "Heap limit (old generation) of each worker in MB; 0 is V8's own; threads: workers and spares of a process, those of groups among them",
    reason:
      'V8 sizes it by the memory of the machine; in a smaller container the system would end the whole process',
  }),
  niceIncrement: workerOption({
    kind: integer({ min: 0, max: 19 }),
    fallback: 10,
    flag: 'nice',
    about: 'How much lower the priority of the workers is; 0 is the same',
    reason: 'the main thread keeps answering if workers use every core, for 1% of their speed',
  }),
  watch: workerOption({
    kind: onOff(),
    fallback: false,
    about: 'Reload the modules when they, or files that they import, change',
    reason: 'for development; in production reload on purpose, with SIGHUP or app.reload()',
  }),
  codegen: workerOption({
    kind: file(),
    fallback: '',
    about:
      'File that is kept as tandem codegen writes it, of the procedures that are served: written at the start, and after each reload; tandem serve only',
    reason: 'for development with watch: callers have the types of the last save',
  }),

  timeoutMs: timeOption({
    kind: duration(1),
    fallback: 30_000,
    flag: 'timeout',
    about: 'How long a call may run before it is stopped; a procedure may set its own',
    reason: 'most clients and proxies give up at 30 to 60 s',
  }),
  maxRequestMs: timeOption({
    kind: duration(1),
    fallback: {
      text: '60000, or timeoutMs if longer',
      from: ({ timeoutMs }) =>
        typeof timeoutMs === 'number' ? Math.max(defaultRequestMs, timeoutMs) : defaultRequestMs,
    },
    about: 'How long a whole request, batch and waiting included, may take',
    reason: 'a batch runs one call after another: without it 1000 calls may take 1000 timeouts',
  }),
  maxQueueMs: timeOption({
    kind: groupOptionKinds.maxQueueMs,
    fallback: 5000,
    about: 'How long a call may wait for a worker before it is refused',
    reason: 'a caller can retry elsewhere after a refusal, not after silence',
  }),
  startTimeoutMs: timeOption({
    kind: duration(1),
    fallback: 30_000,
    flag: 'start-timeout',
    about: 'How long the workers may take to load their modules',
    reason: 'a module that never ends loading must be an error, not a hang',
  }),
  bodyTimeoutMs: timeOption({
    kind: duration(1),
    fallback: 10_000,
    flag: 'body-timeout',
    about:
      'How long a request body may take to arrive, and a large reply to be read, beyond 1 s for each 64 KiB of it',
    reason: 'it stays in memory until then; a stall of a good connection is shorter',
  }),
  keepAliveTimeoutMs: timeOption({
    kind: duration(1, { max: 3_600_000 }),
    fallback: 75_000,
    flag: 'keep-alive-timeout',
    about:
      'How long a connection of node:http may wait for its next request; if connections are scarce, those that have waited longest are closed before; uWebSockets.js: 10 s',
    reason:
      'longer than proxies keep theirs (nginx and AWS 60 s), so that none sends a request into a connection that closes',
  }),
  streamPingMs: timeOption({
    // Half of the silence that a WebSocket is allowed: a client must be able to answer a ping.
    kind: duration(100, { orZero: true, max: 30_000 }),
    fallback: 15_000,
    flag: 'stream-ping',
    about: 'How long a WebSocket or an event stream may be quiet before it is pinged; 0: never',
    reason: 'proxies cut quiet connections after 30 to 60 s',
  }),
  shutdownGraceMs: timeOption({
    kind: duration(0),
    fallback: 10_000,
    flag: 'shutdown-grace',
    about:
      'How long the end may take after SIGTERM or close(); calls may finish for 2 s less, below 8 s for a quarter less',
    reason: 'container platforms kill after 10 to 30 s',
  }),

  maxBodyBytes: limitOption({
    kind: bytes({ min: 1, max: maxTextBytes }),
    fallback: 10 * 1024 ** 2,
    flag: 'max-body',
    about: 'Size of a request body',
    reason: 'a body is held in memory whole before it is read',
  }),
  maxReplyBytes: limitOption({
    kind: bytes({ min: 256, max: maxTextBytes }),
    fallback: 25 * 1024 ** 2,
    flag: 'max-reply',
    about: 'Size of a reply, a batch counted together',
    reason: 'a slow reader holds a whole reply in memory',
  }),
  maxBodyMemory: limitOption({
    kind: bytes({ min: 1, max: 1024 ** 4 }),
    fallback: atLeast('maxBodyBytes'),
    about:
      'Bodies in memory together: arriving, waiting, with workers; above half of it each caller has its share, and the next one is refused',
    reason: 'maxInFlight counts requests, whose bodies may be ten bytes or ten megabytes each',
  }),
  maxReplyMemory: limitOption({
    kind: bytes({ min: 1, max: 1024 ** 4 }),
    fallback: atLeast('maxReplyBytes'),
    about: 'Replies that wait for their clients together; beyond it the slowest client is cut',
    reason: 'a client that does not read its replies must not hold the memory of clients that do',
  }),
  maxInlineParamsBytes: limitOption({
    kind: bytes({ min: 1, max: maxTextBytes }),
    fallback: 256 * 1024,
    flag: 'max-inline-params',
    about: 'Size of the params of a call that runs inline, as they came',
    reason:
      'parsing the worst of this size holds up every other call for 30 ms; larger params belong to a procedure with placement worker, where maxBodyBytes alone bounds them',
  }),
  maxBatch: limitOption({
    kind: integer({ min: 1, max: 1_000_000 }),
    fallback: 1000,
    about: 'Calls in one batch',
    reason: 'few bytes of input must not buy unbounded work',
  }),
  batchConcurrency: limitOption({
    kind: integer({ min: 1, max: 1000 }),
    fallback: 1,
    about: 'Calls of one batch that run at the same time',
    reason: 'one after another is what clients can rely on',
  }),
  overlapReads: protocolOption({
    kind: onOff(),
    fallback: false,
    about: 'Neighbours in a batch whose procedures declare readOnly run at the same time',
    reason:
      'one after another is what clients can rely on, and what is readOnly is the word of its author',
  }),
  maxDepth: limitOption({
    // JSON.stringify recurses. It runs out of stack only well above this depth.
    kind: integer({ min: 2, max: 1000 }),
    fallback: 64,
    about: 'Nesting of arrays and objects in a body',
    reason: 'real data is shallow; deep data is built to exhaust the stack',
  }),
  maxInFlight: limitOption({
    kind: integer({ min: 1, max: 10_000_000 }),
    fallback: 20_000,
    about:
      'Requests that wait for their reply; above half of it each caller has its share, and the next one is refused',
    reason: 'bounds the memory of those that wait for other services, as maxQueue does for workers',
  }),
  maxStreams: limitOption({
    kind: integer({ min: 1, max: 10_000_000 }),
    fallback: 10_000,
    about:
      'Streams that are open at the same time; above half of it each caller has its share, and the next one is refused',
    reason: 'bounds the memory of those that wait for their readers; one for each connection',
  }),
  maxStreamMs: limitOption({
    kind: duration(1, { orZero: true }),
    fallback: 0,
    about: 'Time that a stream may be open, milliseconds; 0: no limit',
    reason: 'subscriptions are long',
  }),
  maxQueue: limitOption({
    kind: groupOptionKinds.maxQueue,
    fallback: 10_000,
    about: 'Calls that wait for a worker, of each group by itself; the next one is refused',
    reason: 'bounds the memory that overload takes; maxQueueMs bounds the wait',
  }),
  rateLimit: limitOption({
    kind: rate(),
    fallback: Object.freeze({ calls: 0, costMs: 0, burstSeconds: 1 }),
    about:
      'What one caller (fairBy) may take: calls a second, costMs (milliseconds a second in handlers), burstSeconds (1: how many seconds of it at once); beyond it requests are refused',
    reason: 'what is too much for one caller depends on the procedures, and on who calls',
  }),
  maxInFlightPerCaller: limitOption({
    kind: integer({ min: 1, max: 10_000_000, orZero: true }),
    fallback: 0,
    about:
      'Requests of one caller (fairBy) that wait for their reply; the next one is refused; 0: any number',
    reason:
      'a gateway is one caller, and carries those of many; set it where each calls for itself',
  }),
  maxConnections: limitOption({
    kind: integer({ min: 1, max: 1_000_000 }),
    fallback: 10_000,
    about:
      'Open connections; above half of it each caller has its share, and the next one is closed',
    reason:
      'enough for most; where the limit of open files has room for fewer, that holds, and the start says so',
  }),

  maxStreamsPerConnection: limitOption({
    kind: integer({ min: 1, max: 1_000_000 }),
    fallback: 100,
    about: 'Subscriptions of one WebSocket; the next one is refused',
    reason:
      'each may fill its window of 64 KiB, which bounds a client that does not read to 6.4 MB',
  }),

  strict: protocolOption({
    kind: onOff(),
    fallback: false,
    about: 'Refuse requests without "jsonrpc": "2.0"',
    reason: 'leaving it out is common, and harms nobody',
  }),
  mcp: protocolOption({
    kind: onOff(),
    fallback: false,
    about: 'Offer the procedures as tools to agents, by the Model Context Protocol',
    reason: 'offering procedures to models is a decision, not a default',
  }),
  mcpTools: protocolOption({
    kind: procedurePatterns(),
    fallback: Object.freeze([]),
    about: 'Procedures that are offered to agents: names, or math.*; none: all; repeatable',
    reason: 'a model reads every tool before each of its turns: long lists cost context',
  }),
  mcpAuthorizationServers: protocolOption({
    kind: identifiers(),
    fallback: Object.freeze([]),
    about:
      'Issuers whose tokens authenticate takes at /mcp: hosts of agents are told where to sign in (RFC 9728), for publicUrl and /mcp; none: they are not; repeatable',
    reason: 'only the operator knows who issues the tokens',
  }),
  mcpScopes: protocolOption({
    kind: scopes(),
    fallback: Object.freeze([]),
    about:
      'Scopes that agents ask for when they sign in; a caller whose auth.scopes is no list with all of them gets a 403; repeatable',
    reason: 'authorize decides for each procedure; these are what every agent needs',
  }),
  httpPath: protocolOption({
    kind: textOrNone(
      'path',
      'a path like /api, without a final /',
      // Neither `:` nor `*`, as in `path`. A client would take a segment of dots out of a URL.
      /^(?=.{1,256}$)(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~!$&'()+,;=@-]+)+$/,
    ),
    fallback: '',
    about:
      'Give each procedure a URL of plain HTTP, by its name below this path, and serve /openapi.json; none: off',
    reason: 'usually /api; a second way in is a decision, not a default',
  }),
  httpProcedures: protocolOption({
    kind: procedurePatterns(),
    fallback: Object.freeze([]),
    about: 'Procedures that have a URL below httpPath: names, or math.*; none: all; repeatable',
    reason: 'the others are still called on path, so this protects none',
  }),
  httpAuth: protocolOption({
    kind: text(
      'scheme',
      'bearer, basic, header:<name> or cookie:<name>',
      /^(?:bearer|basic|(?:header|cookie):[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})$/,
    ),
    fallback: 'bearer',
    about:
      'What authenticate looks at: the security scheme of the OpenAPI document, and the challenge of a 401',
    reason: 'most services read a token from the header authorization; only their authors know',
  }),
  publicUrl: protocolOption({
    kind: textOrNone(
      'url',
      'an http or https URL without a query, a fragment or a final /',
      /^https?:\/\/[^\s/?#"'<>\\^`{|}]+(?:\/[^\s/?#"'<>\\^`{|}]+)*$/,
    ),
    fallback: '',
    about:
      'Where clients find the service, with the prefix that a proxy takes away: the server of the OpenAPI document, and with /mcp behind it the audience of the tokens of agents',
    reason: 'behind a proxy the service does not know its own address',
  }),
  introspection: protocolOption({
    kind: onOff(),
    fallback: true,
    about: 'Answer GET on the path with the schema of every procedure',
    reason: 'clients are generated from it',
  }),
  checkResults: protocolOption({
    kind: switchOrOneOf('refuse', 'off', 'log'),
    fallback: {
      text: 'refuse; log where NODE_ENV is production, without mcp',
      from: ({ mcp }) => (process.env.NODE_ENV === 'production' && mcp !== true ? 'log' : 'refuse'),
    },
    about:
      'A result that does not match the declared return type fails its call, is logged and sent, or is not looked for; members that are not declared are never sent',
    reason:
      'a wrong result is a mistake to find while developing; in production callers may live with it',
  }),

  nats: natsOption({
    kind: natsServers(),
    fallback: Object.freeze([]),
    about:
      'Servers of NATS that carry calls between machines; a name and password in the URL log in; none: no NATS; repeatable',
    reason:
      'one machine needs none; the servers of one cluster are listed so that one of them is enough to start',
  }),
  natsRole: natsOption({
    kind: oneOf('member', 'gateway', 'both'),
    fallback: 'member',
    about:
      'member: gateways call what this process serves; gateway: it sends calls to members; both: it does both. tandem gateway sets it',
    reason: 'modules are served where they are given; a gateway is a command of its own',
  }),
  natsCreds: natsOption({
    kind: file(),
    fallback: '',
    about: 'Credentials file (a JWT and its key) to log in with; read again at each reconnect',
    reason: 'only the operator knows how the server lets clients in',
  }),
  natsNkey: natsOption({
    kind: file(),
    fallback: '',
    about: 'File with the seed of an nkey to log in with; read again at each reconnect',
    reason: 'see natsCreds',
  }),
  natsCa: natsOption({
    kind: file(),
    fallback: '',
    about: 'Certificates, in PEM form, of who signed the certificate of the server; turns TLS on',
    reason: 'without it the authorities that Node knows count',
  }),
  natsCert: natsOption({
    kind: file(),
    fallback: '',
    about: 'Certificate of this client in PEM form, for servers that ask for one; turns TLS on',
    reason: 'most servers ask for none',
  }),
  natsKey: natsOption({
    kind: file(),
    fallback: '',
    about: 'Private key of natsCert',
    reason: 'see natsCert',
  }),
  service: natsOption({
    kind: serviceNames(),
    fallback: Object.freeze(['tandem']),
    about:
      'First token of the subjects, and the name that other clients of NATS see; a gateway may serve several; repeatable',
    reason: 'contracts that do not fit together need names of their own',
  }),
  serviceVersion: natsOption({
    kind: text('version', 'a version like 1.2.3', semver),
    fallback: {
      text: 'that of package.json, else 0.0.0',
      from: ({ nats }) =>
        Array.isArray(nats) && nats.length > 0 ? packageVersion(process.cwd()) : '0.0.0',
    },
    about:
      'Version of the modules; where members describe a procedure differently, the newest counts',
    reason: 'services of NATS have a semantic version',
  }),
  natsTrustAuth: natsOption({
    kind: onOff(),
    fallback: false,
    about:
      'A member believes what gateways say of who calls; off: its own authenticate is asked, else nobody is known',
    reason:
      'NATS names no sender: turn it on where the permissions of the server let only gateways publish to members',
  }),
  natsEndpoints: natsOption({
    kind: onOff(),
    fallback: true,
    about: 'Answer other clients of NATS, as a micro service with one endpoint a procedure',
    reason: 'who may publish there is for the permissions of the server to say',
  }),
  natsReplyPrefixes: natsOption({
    kind: subjectPrefixes(),
    fallback: Object.freeze([]),
    flag: 'nats-reply-prefix',
    about:
      'Where other clients of NATS may wait for answers, beside _INBOX: those with an inbox prefix of their own; repeatable',
    reason:
      'a caller names the subject of its answer, and the member publishes there with its own permissions',
  }),

  logLevel: logOption({
    kind: oneOf('silent', 'error', 'warn', 'info', 'debug'),
    fallback: 'info',
    about: 'What is logged, on stderr: JSON lines, or readable ones on a terminal',
    reason: 'one line per event that matters, none per call',
  }),
  accessLog: logOption({
    kind: onOff(),
    fallback: false,
    about: 'Log one line for each call, at the level info; never its params or its result',
    reason: 'a line costs more than a small call; metrics count calls for less',
  }),
  slowCallMs: logOption({
    kind: duration(1, { orZero: true }),
    fallback: 0,
    flag: 'slow-call',
    about:
      'Log one line for each call that takes so long from its arrival to its reply, at the level warn; streams are left out; 0: none',
    reason: 'only the operator knows what is slow; where it is set, each call is timed',
  }),
  metrics: logOption({
    kind: onOff(),
    fallback: true,
    about: 'Count calls for GET /metrics, in the text format of Prometheus',
    reason: 'costs 4% of the smallest call; it names procedures, as introspection does',
  }),
  metricsPort: logOption({
    kind: portOr('same'),
    fallback: 'same',
    about: 'TCP port of /metrics, /healthz and /readyz; same: that of the calls; 0: any free one',
    reason: 'one port is simple; another one keeps them from callers',
  }),
  tracing: logOption({
    kind: onOff(),
    fallback: false,
    about: 'Make OpenTelemetry spans of requests and calls; needs @opentelemetry/api',
    reason: 'a span costs several times a small call',
  }),
};
