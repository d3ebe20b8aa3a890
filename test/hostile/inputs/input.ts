import { post } from '../../http/raw-client.ts';
import { invalid, parseError } from '../../protocol/case.ts';
import type { Transport } from '../target.ts';

/** What docs/protocol.md says comes back. In a text, `@` stands for the place: `in.` or `out.`. */
export type Wanted =
  /** HTTP 200 with exactly this JSON-RPC reply; the connection goes on. */
  | { readonly how: 'reply'; readonly text: string }
  /** The introspection document; the connection goes on. */
  | { readonly how: 'document' }
  /** 204: nothing to answer; the connection goes on. */
  | { readonly how: 'nothing' }
  /** Refused below JSON-RPC, by us, in the error shape of the protocol. */
  | {
      readonly how: 'rejection';
      readonly status: number;
      readonly code: -32600 | -32004;
      readonly closes: boolean;
      /** The Allow header of a 405. */
      readonly allow?: string;
      readonly isHead?: boolean;
      /** Newer parsers refuse it themselves, as `parser` says. */
      readonly orParser?: boolean;
    }
  /**
   * Refused by the parser, and closed: with a status of one of these classes, in its own words, or without an answer.
   * Which of them depends on the version of Node and of the native binary.
   */
  | {
      readonly how: 'parser';
      readonly classes: readonly number[];
      /** The client ends its side behind the bytes: some versions wait for more of them. */
      readonly ends?: boolean;
    }
  /** Closed without an answer. */
  | { readonly how: 'cut' };

/** Bytes on a socket that are wrong in one way, and the one right answer to them. */
export interface Input {
  /** What is wrong: no two inputs have the same cause. */
  readonly cause: string;
  /** @param place `in.` or `out.`: where the calls in it run */
  readonly bytes: (place: string) => Buffer;
  readonly wanted: Readonly<Record<Transport, Wanted>>;
  /** Why the transports answer differently, which they may about framing alone. */
  readonly differs?: string;
  /** How many of its calls run: none, for most. undefined: up to one, as the machine goes. */
  readonly runs: number | undefined;
  /** The client ends its side behind the bytes, so that what is incomplete is known to stay so. */
  readonly ends: boolean;
}

function both(wanted: Wanted): Input['wanted'] {
  return { uws: wanted, node: wanted };
}

export function placed(text: string | Uint8Array, place: string): Buffer {
  if (typeof text === 'string') return Buffer.from(text.replaceAll('@', place));
  return Buffer.from(Buffer.from(text).toString('latin1').replaceAll('@', place), 'latin1');
}

/** A POST with the usual headers, whose body is what is wrong. */
export function call(
  cause: string,
  body: string | Uint8Array,
  reply: string | undefined,
  runs = 0,
): Input {
  const wanted: Wanted = reply === undefined ? { how: 'nothing' } : { how: 'reply', text: reply };
  const bytes = (place: string): Buffer => post(placed(body, place));
  return { cause, bytes, wanted: both(wanted), runs, ends: false };
}

export function broken(cause: string, body: string | Uint8Array): Input {
  return call(cause, body, parseError);
}

/** @param id of its -32600 */
export function notRequest(cause: string, body: string, id = 'null'): Input {
  return call(cause, body, invalid(id));
}

/** A call that would be right, under headers that are not. */
export const goodCall = '{"jsonrpc":"2.0","method":"@any","params":{"a":1},"id":1}';

export type Rejection = Extract<Wanted, { how: 'rejection' }>;

export function refused(status: number, allow?: string): Rejection {
  const code = status === 413 ? -32004 : -32600;
  return { how: 'rejection', status, code, closes: false, ...(allow !== undefined && { allow }) };
}

/** By us, or by a parser that knows better: either way nothing behind it is read. */
export function refusedAndClosed(status: number): Rejection {
  return { ...refused(status), closes: true, orParser: true };
}

export function refusedHereOrByParser(status: number): Rejection {
  return { ...refused(status), orParser: true };
}

export function parser(...classes: readonly number[]): Wanted {
  return { how: 'parser', classes };
}

export function parserAtEnd(...classes: readonly number[]): Wanted {
  return { how: 'parser', classes, ends: true };
}

export const cut: Wanted = { how: 'cut' };

type Headers = Readonly<Record<string, string | undefined>>;

/** A good call with a header replaced, added, or (undefined) taken away. */
export function headed(cause: string, headers: Headers, wanted: Wanted): Input {
  const bytes = (place: string): Buffer => post(placed(goodCall, place), headers);
  return { cause, bytes, wanted: both(wanted), runs: 0, ends: false };
}

export interface RawOptions {
  readonly runs?: number | undefined;
  readonly ends?: boolean;
}

/** Bytes as they are. */
export function raw(
  cause: string,
  bytes: string | Uint8Array | ((place: string) => Buffer),
  wanted: Wanted,
  options: RawOptions = {},
): Input {
  const { runs, ends = false } = { runs: 0, ...options };
  const make = typeof bytes === 'function' ? bytes : (place: string) => placed(bytes, place);
  return { cause, bytes: make, wanted: both(wanted), runs, ends };
}

/** The transports answer differently, for this reason. */
export function differing(
  input: Input,
  wanted: Readonly<Record<Transport, Wanted>>,
  differs: string,
): Input {
  return { ...input, wanted, differs };
}
