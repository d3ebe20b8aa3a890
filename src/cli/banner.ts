import { escapeControls } from '../core/base/escape.ts';
import type { Config } from '../core/config/config.ts';
import { type Cores, coresHere, coresText } from '../core/config/cores.ts';
import { type Crew, threadsOf } from '../core/config/groups.ts';
import { getRegistrySchema, type ProcedureSchema } from '../core/procedures/document/introspect.ts';
import type { AnyRouter } from '../core/procedures/router.ts';
import type { Procedure } from '../core/procedures/types.ts';
import type { Operations } from '../extras/openapi/operation.ts';
import type { RpcApp } from '../server/app/app.ts';
import type { Address } from '../server/app/app-options.ts';
import type { Hooks } from '../server/app/hooks.ts';
import type { ReadyReport } from '../server/supervisor/messages.ts';
import { fitted, resultText } from './output.ts';

/** What the banner asks of a server that listens. */
export type Served = Pick<RpcApp, 'router' | 'transport' | 'placementOf'>;

/** What the banner says of the process. */
export interface BannerFacts
  extends Pick<Address, 'url' | 'mcpUrl' | 'consoleUrl'>,
    Pick<Config, 'service' | 'processes' | 'workers' | 'spareWorkers' | 'groups'> {
  /** The procedures that have URLs; undefined: the option `httpPath` is off. */
  readonly plainHttp: PlainHttp | undefined;
  readonly version: string;
  /** false: a gateway, which runs nothing itself and has no workers. */
  readonly hasModules: boolean;
  /** Whether an `authenticate` hook decides who may call. */
  readonly authenticates: boolean;
  readonly cores: Cores;
}

/** What the banner knows of procedures as plain HTTP. */
export interface PlainHttp extends Pick<Config, 'httpPath' | 'introspection'> {
  readonly operations: Operations;
}

/** The banner of a process that listens, with or without a supervisor. */
export async function bannerOf(
  app: Served,
  address: Address,
  { modules, config, version }: { modules: readonly string[]; config: Config; version: string },
  hooks: Hooks,
): Promise<Pick<ReadyReport, 'banner' | 'facts'>> {
  const authenticates = hooks.authenticate !== undefined;
  const text = banner(app, {
    ...config,
    ...address,
    plainHttp: await plainHttpOf(app.router, config, authenticates),
    version,
    hasModules: modules.length > 0,
    authenticates,
    cores: coresHere(),
  });
  const { url, mcpUrl, metricsUrl, consoleUrl } = address;
  const { processes, workers } = config;
  const procedures = app.router.list().length;
  const facts = { url, mcpUrl, metricsUrl, consoleUrl, processes, workers, procedures };
  return { banner: text, facts };
}

async function plainHttpOf(
  router: AnyRouter,
  { httpPath, httpProcedures, introspection }: Config,
  authenticates: boolean,
): Promise<PlainHttp | undefined> {
  if (httpPath === '') return undefined;
  // Loaded on demand, as the facade is.
  const { Operations } = await import('../extras/openapi/operation.ts');
  const table = new Map<string, Procedure>();
  for (const name of router.list()) {
    const procedure = router.get(name);
    if (procedure !== undefined) table.set(name, procedure);
  }
  const operations = new Operations(table, httpProcedures, authenticates);
  return { httpPath, introspection, operations };
}

const transportNames = { uws: 'uWebSockets.js', node: 'node:http' } as const;
const mostRows = 50;

/**
 * A signature such as `math.add(a: number, b?: number) -> number`. A bare function without a schema takes any object.
 */
function signature(schema: ProcedureSchema, hasParams: boolean): string {
  const params = schema.parameters.map(
    ({ name, type, required }) => `${name}${required ? '' : '?'}: ${type}`,
  );
  const result = resultText(schema.return_type, schema.yield_type);
  const line = `${schema.name}(${hasParams ? params.join(', ') : '...'}) -> ${result}`;
  return fitted(escapeControls(line), 76);
}

function procedureRows(app: Served): string[] {
  const rows = Object.entries(getRegistrySchema(app.router)).map(([name, schema]) => {
    const procedure = app.router.get(name);
    const isOpen = procedure?.placement === 'auto' && procedure.group === undefined;
    const auto = isOpen ? ' (auto)' : '';
    return {
      text: signature(schema, procedure?.params !== undefined),
      place: `${app.placementOf(name)}${auto}`,
    };
  });
  const shown = rows.slice(0, mostRows);
  const width = Math.max(0, ...shown.map(({ text }) => text.length));
  const lines = shown.map(({ text, place }) => `  ${text.padEnd(width)}  ${place}`);
  return rows.length > mostRows ? [...lines, `  ... and ${rows.length - mostRows} more`] : lines;
}

/** A text as one word of a POSIX shell's command line. */
export function quote(word: string): string {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * The loopback address instead of an address that stands for every interface, which is no address to connect to on
 * every system.
 */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** The command that asks for `url`, as words: the URL of a Unix socket is none that curl takes. */
function curlWords(url: string): string[] {
  const [, scheme = '', socket, path = ''] = /^(https?)\+unix:\/\/([^/]+)(.*)$/.exec(url) ?? [];
  if (socket !== undefined) {
    return ['curl', '--unix-socket', decodeURIComponent(socket), `${scheme}://localhost${path}`];
  }
  // Without -g, curl reads the brackets of an IPv6 address as a pattern.
  return ['curl', ...(url.includes('[') ? ['-g'] : []), url];
}

/** Words of a curl command: the body is `value`. */
function jsonWords(value: unknown): string[] {
  return ['-H', 'content-type: application/json', '-d', JSON.stringify(value)];
}

/** The command that calls this service by JSON-RPC. */
function curlLine(router: AnyRouter, call: ExampleCall | undefined, url: string): string {
  const words = curlWords(url);
  if (call !== undefined) {
    // Without -N, curl shows the values of a stream when there are many.
    if (router.get(call.method)?.stream) words.push('-N', '-H', 'accept: text/event-stream');
    words.push(...jsonWords(call));
  }
  return words.map(quote).join(' ');
}

/** What the banner shows of plain HTTP. */
interface PlainExample {
  /** The command that calls a procedure by its URL; undefined: no procedure was found for it. */
  readonly curl: string | undefined;
  /** What a browser can open; undefined: there is nothing, or the server listens on a Unix socket. */
  readonly link: string | undefined;
}

/**
 * A link for a browser and a line for a terminal: a GET of a procedure that is read and whose params fit a query, else
 * the OpenAPI document and a POST.
 */
function plainExample(
  router: AnyRouter,
  { httpPath, introspection, operations }: PlainHttp,
  url: string,
): PlainExample {
  // By the text: an address of a Unix socket is no base for a relative URL.
  const origin = /^[^/]+\/\/[^/]+/.exec(url)?.[0] ?? '';
  const canOpen = /^https?:/.test(url);
  const names = [...operations.procedures.keys()];
  const read = exampleCallOf(
    router,
    names.filter((name) => {
      const operation = operations.find(name);
      return operation?.isRead === true && operation.form === 'query' && !operation.stream;
    }),
  );
  if (read !== undefined) {
    const link = `${origin}${httpPath}/${read.method}${queryOf(read.params)}`;
    const curl = curlWords(link).map(quote).join(' ');
    return { curl, link: canOpen ? link : undefined };
  }
  const call = exampleCallOf(
    router,
    names.filter((name) => !operations.find(name)?.stream),
  );
  const words = call && [
    ...curlWords(`${origin}${httpPath}/${call.method}`),
    ...jsonWords(call.params ?? {}),
  ];
  return {
    curl: words?.map(quote).join(' '),
    link: canOpen && introspection ? `${origin}/openapi.json` : undefined,
  };
}

/** Params as a query: each item of an array is a member of its own. */
function queryOf(params: ExampleCall['params'] = {}): string {
  const members = Object.entries(params).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown): [string, string] => [
      name,
      String(one),
    ]),
  );
  return members.length === 0 ? '' : `?${new URLSearchParams(members).toString()}`;
}

function workersText({ workers, spareWorkers }: Pick<Crew, 'workers' | 'spareWorkers'>): string {
  const regular = workers === 1 ? '1 worker' : `${workers} workers`;
  return spareWorkers === 0
    ? `${regular} without an express lane (no spare)`
    : `${regular} and an express lane`;
}

/** The threads of all processes. */
function crewText(facts: BannerFacts, groups: Record<string, Crew>): string {
  const { processes } = facts;
  const each = facts.hasModules ? workersText(facts) : 'no workers';
  const workers = processes === 1 ? each : `${processes} processes with ${each} each`;
  if (!facts.hasModules) return workers;
  const threads = processes * threadsOf({ ...facts, groups });
  return `${workers}, ${threads === 1 ? '1 thread' : `${threads} threads`} in all`;
}

/** The text that `tandem serve` prints when it is ready: the address, the procedures, a line to paste. */
export function banner(app: Served, facts: BannerFacts): string {
  const { router } = app;
  const { url, mcpUrl, consoleUrl, plainHttp, version, service, authenticates } = facts;
  // The groups that have workers: those that a procedure names.
  const used = new Set(router.list().map((name) => router.get(name)?.group));
  const groups = Object.entries(facts.groups).filter(([group]) => used.has(group));
  const crew = `${crewText(facts, Object.fromEntries(groups))}, on ${coresText(facts.cores)}`;
  const lines = [`tandem ${version} listens on ${url} (${transportNames[app.transport]}, ${crew})`];
  if (mcpUrl !== undefined) lines.push(`  agents (MCP) connect to ${reachable(mcpUrl)}`);
  for (const [name, group] of groups) {
    const { workerMemoryMb } = group;
    const memory = workerMemoryMb === 0 ? '' : `, ${workerMemoryMb} MB of heap each`;
    lines.push(`  group ${name}: ${workersText(group)}${memory}`);
  }
  const gateway = [`  calls go to the members of ${service.join(', ')}`];
  lines.push('', ...(facts.hasModules ? procedureRows(app) : gateway), '');
  const call = exampleCall(router);
  const plain = plainHttp && plainExample(router, plainHttp, reachable(url));
  lines.push('Try it:', `  ${curlLine(router, call, reachable(url))}`);
  if (plain?.curl !== undefined) lines.push(`  ${plain.curl}`);
  const who = authenticates ? 'authenticate' : `authorize of ${call?.method}`;
  if (authenticates || (call !== undefined && asksWho(router, call.method))) {
    // Only the hook's author knows what the hook looks at.
    lines.push(
      `  (${who} decides who may call: add what it asks for, -H 'authorization: ...' say)`,
    );
  }
  if (plain?.link !== undefined) lines.push(`As plain HTTP: ${plain.link}`);
  if (consoleUrl !== undefined) lines.push(`Or in a browser: ${reachable(consoleUrl)}`);
  return [...lines, '', ''].join('\n');
}

export interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

/**
 * A call that `router` accepts: the first procedure whose example has arguments, else one without arguments;
 * procedures without an `authorize` first.
 *
 * @returns undefined if no call was found
 */
export function exampleCall(router: AnyRouter): ExampleCall | undefined {
  return exampleCallOf(router, router.list());
}

/** The same, of the procedures `names`. */
function exampleCallOf(router: AnyRouter, names: readonly string[]): ExampleCall | undefined {
  const asks = (method: string): boolean => asksWho(router, method);
  const open = names.filter((name) => !asks(name));
  return callOfOne(router, open) ?? callOfOne(router, names.filter(asks));
}

/** Whether an `authorize` decides who may call, the procedure's own or that of a merge. */
function asksWho(router: AnyRouter, method: string): boolean {
  return router.get(method)?.links.some(({ kind }) => kind === 'authorize') === true;
}

function callOfOne(router: AnyRouter, names: readonly string[]): ExampleCall | undefined {
  let plain: ExampleCall | undefined;
  for (const method of names) {
    const params = exampleParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    plain ??= { jsonrpc: '2.0', id: 1, method };
  }
  return plain;
}

/** Plausible arguments for the procedure's required parameters; undefined if none are accepted. */
function exampleParams(router: AnyRouter, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const { required, properties } = procedure?.params ?? {};
  try {
    const params = exampleObject({ required: required ?? [], properties: properties ?? {} }, 0);
    // Arguments that pass the procedure's own validation make a line that works when it is pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

const byFormat: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  time: '12:30:00Z',
  'date-time': '2026-01-31T12:30:00Z',
  email: 'ada@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};

const byName: readonly [pattern: RegExp, value: string][] = [
  [/e-?mail/i, 'ada@example.com'],
  [/password|secret/i, 'correct horse battery staple'],
  [/ur[il]$/i, 'https://example.com/'],
  [/text|message|body|query/i, 'to be or not to be'],
  [/name$|user/i, 'Ada'],
  [/currency/i, 'EUR'],
];

/** The part of a schema that is read here. Registration has checked it. */
interface Schema {
  readonly type?: unknown;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly multipleOf?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly items?: Schema | readonly Schema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/**
 * A plausible JSON value for a schema, for a line that is shown to people.
 *
 * @param name the parameter's name: a parameter called `email` gets an address
 * @param index the parameter's position, so that a and b get different numbers
 */
function example(schema: Schema, name: string, index: number, depth: number): unknown {
  // A recursive schema is cut here. The caller's validation decides whether the value is accepted.
  if (depth > 8) return null;
  const { examples = [], enum: choices = [], anyOf = [], allOf } = schema;
  if (examples.length > 0) return examples[0];
  if ('default' in schema) return schema.default;
  if ('const' in schema) return schema.const;
  if (choices.length > 0) return choices[0];
  if (anyOf[0] !== undefined) return example(anyOf[0], name, index, depth + 1);
  if (allOf !== undefined) {
    return Object.assign({}, ...allOf.map((part) => example(part, name, index, depth + 1)));
  }
  switch (schema.type) {
    case 'number':
    case 'integer':
      return exampleNumber(schema, index);
    case 'string':
      return exampleString(schema, name);
    case 'boolean':
      return true;
    case 'array':
      return exampleArray(schema, name, depth + 1);
    case 'object':
      return exampleObject(schema, depth + 1);
    default:
      return schema.type === undefined ? 'hello' : null;
  }
}

function exampleNumber(schema: Schema, index: number): number {
  const { exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity } = schema;
  const { minimum = exclusiveMinimum + 1, maximum = exclusiveMaximum - 1 } = schema;
  const step = schema.multipleOf ?? (schema.type === 'integer' ? 1 : undefined);
  // 2, 3, ...: small numbers, so that the arguments differ.
  const value = Math.min(Math.max(index + 2, minimum), maximum);
  return step === undefined ? value : Math.ceil(value / step) * step;
}

function exampleString({ format = '', minLength = 0, maxLength }: Schema, name: string): string {
  const text = byFormat[format] ?? byName.find(([pattern]) => pattern.test(name))?.[1] ?? 'hello';
  return text.padEnd(minLength, 'x').slice(0, maxLength);
}

function exampleArray(schema: Schema, name: string, depth: number): unknown[] {
  const { items, maxItems = 1, minItems = Math.min(1, maxItems) } = schema;
  if (Array.isArray(items)) return items.map((item: Schema, i) => example(item, name, i, depth));
  return Array.from({ length: Math.min(minItems, 100) }, (_, i) =>
    items === undefined ? i : example(items as Schema, name, i, depth),
  );
}

function exampleObject(
  { properties = {}, required = [] }: Schema,
  depth: number,
): Record<string, unknown> {
  const entries = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(
    entries.map(([name, value], index) => [name, example(value, name, index, depth)]),
  );
}
