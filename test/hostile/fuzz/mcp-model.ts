import { isUtf8 } from 'node:buffer';
import { beginsLongArray, parseModel, readModel, type Value } from '../../jsonrpc/model.ts';
import { placedProcedures } from '../reference.ts';

/** What a client says in front of a body. Undefined members: the header is not sent. */
export interface Head {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** One reply: all of it, or how it begins where its words are free. */
export interface Reply {
  readonly starts: string;
  readonly isWhole: boolean;
}

/** What docs/protocol.md, "Tools for agents (MCP)", gives a body. */
export type Answer =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'one'; readonly status: number; readonly reply: Reply }
  | { readonly kind: 'batch'; readonly replies: readonly Reply[] };

export const modernVersion = '2026-07-28';
const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const batchVersion = '2025-03-26';
export const maxBatch = 4;
const maxDepth = 64;
const serverInfo = '{"name":"tandem-rpc","version":"0.1.0"}';
const tail = `,"_meta":{"io.modelcontextprotocol/serverInfo":${serverInfo}}`;
const metaVersion = 'io.modelcontextprotocol/protocolVersion';
const metaCapabilities = 'io.modelcontextprotocol/clientCapabilities';

/** By either name: that of the procedure, and the one that hosts take. */
const tools = new Map(
  [...placedProcedures].flatMap(([name, procedure]) => [
    [name, procedure] as const,
    [name.replaceAll('.', '_'), procedure] as const,
  ]),
);

function failed(id: string | undefined, code: number): Reply {
  const known = id === undefined ? '' : `"id":${id},`;
  return {
    starts: `{"jsonrpc":"2.0",${known}"error":{"code":${code},"message":"`,
    isWhole: false,
  };
}

function fault(status: number, id: string | undefined, code: number): Answer {
  return { kind: 'one', status, reply: failed(id, code) };
}

function result(id: string, text: string, isWhole = true): Reply {
  return { starts: `{"jsonrpc":"2.0","id":${id},"result":${text}`, isWhole };
}

/** A message as the model reads it. */
interface Message {
  readonly id: string | undefined;
  readonly method: string;
  readonly members: ReadonlyMap<string, Value>;
  readonly meta: ReadonlyMap<string, Value> | undefined;
}

/** The members that are read; undefined: one of them stands twice, or there is no object. */
function membersOf(value: Value, names: readonly string[]): ReadonlyMap<string, Value> | undefined {
  if (value.kind !== 'object') return undefined;
  const read = value.members.filter(({ name }) => names.includes(name));
  const found = new Map(read.map((member) => [member.name, member.value]));
  return found.size === read.length ? found : undefined;
}

const paramNames = ['_meta', 'name', 'arguments', 'cursor', 'protocolVersion', 'requestId'];

/** @returns an id where it is no request: JSON text, or undefined */
function messageOf(
  text: string,
  value: Value,
): Message | { readonly noRequest: string | undefined } {
  const reading = readModel(text, value, true);
  const idOf = (id: string | undefined) => (id === 'null' ? undefined : id);
  if ('invalid' in reading) return { noRequest: idOf(reading.invalid) };
  const { method, id } = reading;
  const params = value.members.find(({ name }) => name === 'params')?.value;
  const members = params === undefined ? new Map() : membersOf(params, paramNames);
  if (members === undefined || id === 'null') return { noRequest: idOf(id) };
  const given: Value | undefined = members.get('_meta');
  const meta = given && membersOf(given, [metaVersion, metaCapabilities, 'progressToken']);
  if (given !== undefined && meta === undefined) return { noRequest: id };
  return { id, method, members, meta };
}

/** A string that is not written longer than `longest`. */
function stringOf(value: Value | undefined, longest: number): string | undefined {
  if (value?.kind !== 'string' || value.end - value.start > longest) return undefined;
  return value.value as string;
}

const longestName = 6 * 256 + 2;

/** @param head undefined: there are no headers, as on stdin */
export function answerOf(body: Uint8Array, head: Head | undefined): Answer {
  const text = isUtf8(body) ? Buffer.from(body).toString() : '';
  if (isUtf8(body) && beginsLongArray(text, maxBatch, maxDepth)) {
    return fault(400, undefined, -32600);
  }
  const value = isUtf8(body) ? parseModel(text) : undefined;
  if (value === undefined || value.depth > maxDepth) return fault(400, undefined, -32700);
  if (value.kind !== 'array' || value.items.length === 0) {
    const message = messageOf(text, value);
    if ('noRequest' in message) return fault(400, message.noRequest, -32600);
    return answerTo(text, message, head);
  }
  if (head?.version !== undefined && head.version !== batchVersion) {
    return fault(400, undefined, -32600);
  }
  const replies = value.items.flatMap((item) => {
    const message = messageOf(text, item);
    if ('noRequest' in message) return [failed(message.noRequest, -32600)];
    if (message.id !== undefined && isModern(message, undefined)) {
      return [failed(message.id, -32600)];
    }
    const answer = answerTo(text, message, undefined);
    return answer.kind === 'one' ? [answer.reply] : [];
  });
  return replies.length === 0 ? { kind: 'nothing' } : { kind: 'batch', replies };
}

function isModern({ meta }: Message, head: Head | undefined): boolean {
  if (stringOf(meta?.get(metaVersion), 100) !== undefined) return true;
  if (meta?.get(metaCapabilities)?.kind === 'object') return true;
  return head?.version !== undefined && !legacyVersions.includes(head.version);
}

function answerTo(text: string, message: Message, head: Head | undefined): Answer {
  const { id, method, members, meta } = message;
  if (id === undefined) return { kind: 'nothing' };
  const one = (reply: Reply): Answer => ({ kind: 'one', status: 200, reply });
  const modern = isModern(message, head);
  if (modern) {
    const version = stringOf(meta?.get(metaVersion), 100);
    const name = stringOf(members.get('name'), longestName);
    if (version === undefined) return fault(400, id, -32602);
    if (head !== undefined && head.version !== version) return fault(400, id, -32020);
    if (version !== modernVersion) return fault(400, id, -32022);
    if (meta?.get(metaCapabilities)?.kind !== 'object') return fault(400, id, -32602);
    if (head !== undefined && head.method !== method) return fault(400, id, -32020);
    const isNamed = method !== 'tools/call' || head === undefined || head.name === name;
    if (!isNamed) return fault(400, id, -32020);
  }
  const begin = modern ? '{"resultType":"complete",' : '{';
  switch (method) {
    case 'tools/call':
      return one(callOf(text, message, id, begin, modern ? tail : ''));
    case 'tools/list': {
      const isFirst = !members.has('cursor');
      return one(isFirst ? result(id, `${begin}"tools":[`, false) : failed(id, -32602));
    }
  }
  if (modern && method === 'server/discover') return one(result(id, begin, false));
  if (modern) return fault(404, id, -32601);
  if (method === 'ping') return one(result(id, '{}}'));
  if (method !== 'initialize') return one(failed(id, -32601));
  const asked = stringOf(members.get('protocolVersion'), 100);
  if (asked === undefined) return one(failed(id, -32602));
  const agreed = legacyVersions.includes(asked) ? asked : legacyVersions[0];
  const told = `{"protocolVersion":"${agreed}","capabilities":{"tools":{}},"serverInfo":${serverInfo}}}`;
  return one(result(id, told));
}

function callOf(text: string, { members }: Message, id: string, begin: string, end: string): Reply {
  const name = stringOf(members.get('name'), longestName);
  const procedure = name === undefined ? undefined : tools.get(name);
  const given = members.get('arguments');
  if (procedure === undefined || (given !== undefined && given.kind !== 'object')) {
    return failed(id, -32602);
  }
  const params = given && text.slice(given.start, given.end);
  const shown = (value: string): string => `${begin}"content":[{"type":"text","text":${value}`;
  const needsValue = name?.endsWith('echo') === true || name?.endsWith('padded') === true;
  if (needsValue && !isWhole(given, name)) {
    return result(id, shown('"Invalid arguments:'), false);
  }
  const outcome = procedure(params);
  if (!('result' in outcome)) return result(id, shown('"Internal error (-32603)'), false);
  const quoted = outcome.result.startsWith('"') ? outcome.result : JSON.stringify(outcome.result);
  return result(id, `${shown(quoted)}}]${end}}}`);
}

/** Whether arguments have the members that their procedure asks for, and no others. */
function isWhole(given: Value | undefined, name: string | undefined): boolean {
  const members = given?.members ?? [];
  const wanted = name?.endsWith('padded') === true ? ['pad', 'value'] : ['value'];
  const last = (wantedName: string) => members.findLast((member) => member.name === wantedName);
  if (members.some((member) => !wanted.includes(member.name))) return false;
  if (wanted.some((each) => last(each) === undefined)) return false;
  return !wanted.includes('pad') || last('pad')?.value.kind === 'string';
}
