import type { ServerName } from '../../../servers.ts';
import { post, rpc } from '../../raw-client.ts';

/** What docs/protocol.md says comes back. */
export type Wanted =
  /** The introspection document; the connection goes on. */
  | { readonly how: 'document' }
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
  readonly bytes: Buffer;
  readonly wanted: Readonly<Record<ServerName, Wanted>>;
  /** Why the servers answer differently, which they may about framing alone. */
  readonly differs?: string;
  /** The client ends its side behind the bytes, so that what is incomplete is known to stay so. */
  readonly ends: boolean;
}

/** A call that would be right, under headers that are not. */
export const goodCall = rpc('echo', 'x');

export type Rejection = Extract<Wanted, { how: 'rejection' }>;

export function refused(status: number, allow?: string): Rejection {
  const code = status === 413 ? -32004 : -32600;
  return { how: 'rejection', status, code, closes: false, ...(allow !== undefined && { allow }) };
}

/** By us, or by a parser that knows better: either way nothing behind it is read. */
export function refusedAndClosed(status: number): Rejection {
  return { ...refused(status), closes: true, orParser: true };
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
  return raw(cause, post(goodCall, headers), wanted);
}

/** Bytes as they are. */
export function raw(
  cause: string,
  bytes: string | Uint8Array,
  wanted: Wanted,
  { ends = false }: { readonly ends?: boolean } = {},
): Input {
  return {
    cause,
    bytes: Buffer.from(bytes as Uint8Array),
    wanted: { uws: wanted, node: wanted },
    ends,
  };
}

/** The servers answer differently, for this reason. */
export function differing(
  input: Input,
  wanted: Readonly<Record<ServerName, Wanted>>,
  differs: string,
): Input {
  return { ...input, wanted, differs };
}
