import type { RequestScope } from '../../core/dispatch/scope.ts';
import type { StreamHost } from '../../core/dispatch/streams/contract.ts';
import {
  type Envelope,
  type InvalidEnvelope,
  isInvalid,
  type ReadLimits,
} from '../../core/protocol/body.ts';
import { ErrorCode } from '../../core/protocol/errors.ts';
import {
  type MemberPlace,
  membersAt,
  type Readable,
  readableBytes,
  readableText,
  readExactly,
  stringAt,
} from '../../core/protocol/exact.ts';
import type { Outcome, ReplySink } from '../../core/protocol/reply.ts';
import type { McpHeaders } from '../../server/http/edge/request-head.ts';
import {
  errorText,
  type Fault,
  type McpAnswer,
  McpCode,
  malformed,
  metaNames,
} from './protocol.ts';

/** A message of a client: a request, or a notification if it has no id. Its arguments are not parsed. */
export interface Message {
  readonly method: string;
  /** JSON text of the id, as it was written; undefined: a notification. */
  readonly id: string | undefined;
  readonly meta: Meta | undefined;
  /** Undefined: not given, or no string. */
  readonly name: string | undefined;
  readonly cursor: string | undefined;
  readonly protocolVersion: string | undefined;
  /** JSON text of the id of the request that is cancelled. */
  readonly requestId: string | undefined;
  /** Where the arguments stand in the body: an object; `none`: not given; `wrong`: no object. */
  readonly arguments: MemberPlace | 'none' | 'wrong';
}

export interface Meta {
  /** Undefined: not given, or no string. */
  readonly version: string | undefined;
  readonly hasCapabilities: boolean;
  /** JSON text of the token by which the client wants to hear how far a call is; undefined: it does not. */
  readonly progressToken: string | undefined;
}

/** Longest strings that mean something, in units: escapes may take six for a character. */
const maxNameLength = 6 * 256 + 2;
const maxVersionLength = 100;
const maxTokenLength = 256;

const paramNames = [
  '_meta',
  'name',
  'arguments',
  'cursor',
  'protocolVersion',
  'requestId',
] as const;

const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;
const MINUS = 0x2d;

/** A body as it is read here: text if it is small. */
export type Source = string | Uint8Array;

/** What a body holds: a message, or a batch of them. A fault stands for a message that can't be read. */
export type ReadMessages = Message | Fault | (Message | Fault)[];

/** Reads a body: each unit is looked at a few times, and no value is made of what may be large. */
export function readMessages(source: Source, limits: ReadLimits): ReadMessages {
  const readable = typeof source === 'string' ? readableText(source) : readableBytes(source);
  const body = readExactly(readable, limits);
  if (body.kind === 'single') return toMessage(readable, body.entry);
  if (body.kind === 'batch') return body.entries.map((entry) => toMessage(readable, entry));
  // No JSON at all, `[]`, or a batch that is too long.
  if (body.code === ErrorCode.ParseError) return notJson();
  if (body.code !== ErrorCode.LimitExceeded) return noRequest(undefined);
  const most = `at most ${limits.maxBatch} messages`;
  return malformed(undefined, McpCode.InvalidRequest, most);
}

export function notJson(): Fault {
  return malformed(undefined, McpCode.ParseError, 'Parse error');
}

/** @param id JSON text; undefined: it is not known */
function noRequest(id: string | undefined): Fault {
  return malformed(id, McpCode.InvalidRequest, 'Invalid Request');
}

function toMessage(readable: Readable, entry: Envelope | InvalidEnvelope): Message | Fault {
  // The protocol has no id null.
  const id = entry.id === 'null' ? undefined : entry.id;
  if (isInvalid(entry) || entry.id === 'null') return noRequest(id);
  const { method, paramsStart, paramsEnd } = entry;
  const params = paramsOf(readable, paramsStart, paramsEnd);
  const meta = params && metaOf(readable, params._meta);
  if (params === undefined || meta === null) return noRequest(id);
  return {
    method,
    id,
    meta,
    name: stringAt(readable, params.name, maxNameLength),
    cursor: params.cursor && (stringAt(readable, params.cursor, maxNameLength) ?? ''),
    protocolVersion: stringAt(readable, params.protocolVersion, maxVersionLength),
    requestId: idAt(readable, params.requestId),
    arguments: argumentsOf(readable, params.arguments),
  };
}

type Params = Partial<Record<(typeof paramNames)[number], MemberPlace>>;

/** Undefined: they are an array, or a name that means something stands twice. */
function paramsOf(readable: Readable, start: number, end: number): Params | undefined {
  if (start === -1) return {};
  return isObjectAt(readable, start) ? membersAt(readable, start, end, paramNames) : undefined;
}

/** Null: there is a `_meta` that can't be read. */
function metaOf(readable: Readable, place: MemberPlace | undefined): Meta | undefined | null {
  if (place === undefined) return undefined;
  if (!isObjectAt(readable, place.start)) return null;
  const { version, capabilities, progress } = metaNames;
  const found = membersAt(readable, place.start, place.end, [version, capabilities, progress]);
  if (found === undefined) return null;
  const held = found[capabilities];
  return {
    version: stringAt(readable, found[version], maxVersionLength),
    hasCapabilities: held !== undefined && isObjectAt(readable, held.start),
    progressToken: idAt(readable, found[progress]),
  };
}

function argumentsOf(
  readable: Readable,
  place: MemberPlace | undefined,
): MemberPlace | 'none' | 'wrong' {
  if (place === undefined) return 'none';
  return isObjectAt(readable, place.start) ? place : 'wrong';
}

/** The text of a string or a number that names a request; undefined: it is neither. */
function idAt(readable: Readable, place: MemberPlace | undefined): string | undefined {
  if (place === undefined || place.end - place.start > maxTokenLength) return undefined;
  const first = readable.units[place.start] as number;
  const isNumber = first === MINUS || (first >= 0x30 && first <= 0x39);
  return first === QUOTE || isNumber ? readable.textOf(place.start, place.end) : undefined;
}

function isObjectAt({ units }: Readable, start: number): boolean {
  return units[start] === OPEN_BRACE;
}

/**
 * Sends a notification of progress beside the reply.
 *
 * @param taken called when the client has room for more, at once or later
 */
export type ProgressOutlet = (notification: string, taken: () => void) => void;

export interface McpClient {
  /** It must be what the body says. Undefined: the transport has no headers. */
  readonly head: McpHeaders | undefined;
  /**
   * Makes the reply to the request a stream of events: notifications, then the response. Undefined: the client takes a
   * response alone.
   *
   * @param note makes a value the notification that is sent
   * @param reply makes the end of the stream the response
   */
  readonly events:
    | ((note: (value: string) => string, reply: (ended: Outcome) => string) => StreamHost)
    | undefined;
  /** Takes notifications beside the reply; undefined: there is no way for them. */
  readonly outlet: ProgressOutlet | undefined;
  /** Told the id of a request, JSON text, if the client can cancel it by a message of its own. */
  readonly begin?: ((id: string) => void) | undefined;
  /** The client does not wait for that request any more. */
  readonly cancel?: ((id: string) => void) | undefined;
}

export interface McpRequest {
  readonly message: Message;
  /** JSON text. */
  readonly id: string;
  readonly source: Source;
  readonly scope: RequestScope;
  readonly client: McpClient;
  readonly sink: ReplySink<McpAnswer>;
  /** Whether somebody decided who calls: what this caller is told is then not for others. */
  readonly isPrivate: boolean;
}

/** Gives an answer, or the promise of one, to the client that asked. */
export function give(
  answer: McpAnswer | Promise<McpAnswer>,
  id: string | undefined,
  sink: ReplySink<McpAnswer>,
): void {
  if (!(answer instanceof Promise)) {
    sink.onReply(answer);
    return;
  }
  answer.then(
    (settled) => sink.onReply(settled),
    // Nobody is left without an answer, even if this code is at fault.
    () => sink.onReply(errorText(id, McpCode.InternalError, 'the service failed')),
  );
}
