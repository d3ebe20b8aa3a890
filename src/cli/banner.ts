import { escapeControls } from '../core/base/escape.ts';
import { counted } from '../core/base/text.ts';
import { isObject } from '../core/base/value-kinds.ts';
import { type Config, openApiPath } from '../core/config/config.ts';
import { type GroupOptions, threadsOf } from '../core/config/groups.ts';
import { type Cores, coresHere, coresText } from '../core/config/machine.ts';
import { getRegistrySchema, type ProcedureSchema } from '../core/procedures/document/introspect.ts';
import type { AnyRouter } from '../core/procedures/router.ts';
import { isRecord, type SchemaNode } from '../core/schema/model.ts';
import type { RpcApp } from '../server/app/app.ts';
import type { Address } from '../server/app/app-options.ts';
import type { Hooks } from '../server/app/hooks.ts';
import type { ReadyReport } from '../server/process/channel.ts';
import { fitted, resultText } from './output.ts';

export type Served = Pick<RpcApp, 'router' | 'transport' | 'placementOf'>;

export interface BannerFacts
  extends Pick<Address, 'url' | 'mcpUrl' | 'consoleUrl'>,
    Pick<
      Config,
      'service' | 'processes' | 'workers' | 'spareWorkers' | 'groups' | 'httpPath' | 'introspection'
    > {
  readonly version: string;
  /** false: a gateway, which runs nothing itself and has no workers. */
  readonly hasModules: boolean;
  /** Whether an `authenticate` hook decides who may call. */
  readonly authenticates: boolean;
  readonly cores: Cores;
}

/** The banner of a process that listens, with or without a supervisor. */
export function bannerOf(
  app: Served,
  address: Address,
  { modules, config, version }: { modules: readonly string[]; config: Config; version: string },
  hooks: Hooks,
): Pick<ReadyReport, 'banner' | 'facts'> {
  const text = banner(app, {
    ...config,
    ...address,
    version,
    hasModules: modules.length > 0,
    authenticates: hooks.authenticate !== undefined,
    cores: coresHere(),
  });
  const { url, mcpUrl, metricsUrl, consoleUrl } = address;
  const { processes, workers } = config;
  const procedures = app.router.list().length;
  const facts = { url, mcpUrl, metricsUrl, consoleUrl, processes, workers, procedures };
  return { banner: text, facts };
}

const transportNames = { uws: 'uWebSockets.js', node: 'node:http' } as const;
const maxRows = 50;

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
  const shown = rows.slice(0, maxRows);
  const width = Math.max(0, ...shown.map(({ text }) => text.length));
  const lines = shown.map(({ text, place }) => `  ${text.padEnd(width)}  ${place}`);
  return rows.length > maxRows ? [...lines, `  ... and ${rows.length - maxRows} more`] : lines;
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

function curlLine(router: AnyRouter, call: ExampleCall, url: string): string {
  const words = curlWords(url);
  // Without -N, curl shows the values of a stream when there are many.
  if (router.get(call.method)?.stream) words.push('-N', '-H', 'accept: text/event-stream');
  words.push('-H', 'content-type: application/json', '-d', JSON.stringify(call));
  return words.map(quote).join(' ');
}

function workersText({
  workers,
  spareWorkers,
}: Pick<GroupOptions, 'workers' | 'spareWorkers'>): string {
  const regular = counted(workers, 'worker');
  return spareWorkers === 0
    ? `${regular} without an express worker (no spare)`
    : `${regular} and an express worker`;
}

function groupsText(facts: BannerFacts, groups: Record<string, GroupOptions>): string {
  const { processes } = facts;
  const each = facts.hasModules ? workersText(facts) : 'no workers';
  const workers = processes === 1 ? each : `${processes} processes with ${each} each`;
  if (!facts.hasModules) return workers;
  return `${workers}, ${counted(processes * threadsOf({ ...facts, groups }), 'thread')} in all`;
}

/** The text that `tandem serve` prints when it is ready: the address, the procedures, a line to paste. */
export function banner(app: Served, facts: BannerFacts): string {
  const { router } = app;
  const { url, mcpUrl, consoleUrl, version, service, authenticates } = facts;
  const { httpPath, introspection } = facts;
  // The groups that have workers: those that a procedure names.
  const used = new Set(router.list().map((name) => router.get(name)?.group));
  const groups = Object.entries(facts.groups).filter(([group]) => used.has(group));
  const threadsText = `${groupsText(facts, Object.fromEntries(groups))}, on ${coresText(facts.cores)}`;
  const lines = [
    `tandem ${version} listens on ${url} (${transportNames[app.transport]}, ${threadsText})`,
  ];
  if (mcpUrl !== undefined) lines.push(`  agents (MCP) connect to ${reachable(mcpUrl)}`);
  for (const [name, group] of groups) {
    const { workerMemoryMb } = group;
    const memory = workerMemoryMb === 0 ? '' : `, ${workerMemoryMb} MB of heap each`;
    lines.push(`  group ${name}: ${workersText(group)}${memory}`);
  }
  const gateway = [`  calls go to the members of ${service.join(', ')}`];
  lines.push('', ...(facts.hasModules ? procedureRows(app) : gateway), '');
  const call = exampleCall(router, introspection);
  if (call !== undefined) {
    lines.push('Try it:', `  ${curlLine(router, call, reachable(url))}`);
    if (authenticates || needsAuth(router, call.method)) {
      const who = authenticates ? 'authenticate' : `authorize of ${call.method}`;
      // Only the hook's author knows what the hook looks at.
      lines.push(
        `  (${who} decides who may call: add what it asks for, -H 'authorization: ...' say)`,
      );
    }
  }
  if (httpPath !== '' && introspection && /^https?:/.test(url)) {
    lines.push(`As plain HTTP: ${new URL(openApiPath, reachable(url)).href}`);
  }
  if (consoleUrl !== undefined) lines.push(`Or in a browser: ${reachable(consoleUrl)}`);
  return [...lines, '', ''].join('\n');
}

interface ExampleCall {
  readonly jsonrpc: '2.0';
  readonly id: 1;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const discover: ExampleCall = { jsonrpc: '2.0', id: 1, method: 'rpc.discover' };

/**
 * A call that is accepted, by what the procedures declare: the first one with params, else one without, those without an
 * `authorize` before the others; else `rpc.discover`.
 *
 * @returns undefined if none of them can be called
 */
function exampleCall(router: AnyRouter, introspection: boolean): ExampleCall | undefined {
  const names = router.list();
  const asks = (method: string): boolean => needsAuth(router, method);
  const open = names.filter((name) => !asks(name));
  const found = callOfOne(router, open) ?? callOfOne(router, names.filter(asks));
  return found ?? (introspection ? discover : undefined);
}

/** Whether an `authorize` decides who may call, the procedure's own or that of a merge. */
function needsAuth(router: AnyRouter, method: string): boolean {
  return router.get(method)?.links.some(({ kind }) => kind === 'authorize') === true;
}

function callOfOne(router: AnyRouter, names: readonly string[]): ExampleCall | undefined {
  let bare: ExampleCall | undefined;
  for (const method of names) {
    const params = declaredParams(router, method);
    if (params === undefined) continue;
    if (Object.keys(params).length > 0) return { jsonrpc: '2.0', id: 1, method, params };
    bare ??= { jsonrpc: '2.0', id: 1, method };
  }
  return bare;
}

/** The required params of a procedure as it declares them; undefined: it does not, or does not accept them. */
function declaredParams(router: AnyRouter, method: string): Record<string, unknown> | undefined {
  const procedure = router.get(method);
  const params = procedure?.params === undefined ? {} : declaredValue(procedure.params);
  if (!isObject(params)) return undefined;
  try {
    // Params that pass the procedure's own validation make a line that works when it is pasted.
    procedure?.bindParams(params);
    return params;
  } catch {
    return undefined;
  }
}

/**
 * The first example or the only value that a schema declares; undefined: it declares none. Members with a default are not
 * required, and left out.
 */
function declaredValue(node: SchemaNode): unknown {
  const { examples } = node.notes;
  if (Array.isArray(examples) && examples.length > 0) return examples[0] as unknown;
  if (node.kind === 'literal') return node.value;
  if (node.kind !== 'object' || isRecord(node)) return undefined;
  const required = node.members.filter(({ isRequired }) => isRequired);
  const members = required.map(({ name, node: member }) => [name, declaredValue(member)] as const);
  const isWhole = members.every(([, value]) => value !== undefined);
  return isWhole ? Object.fromEntries(members) : undefined;
}
