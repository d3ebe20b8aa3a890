/** What must become of a text, as it stands for a value. */
export type Verdict =
  /** It is JSON, and comes back as JSON.parse reads it. */
  | 'accept'
  /** It is no JSON, so that nothing of what holds it runs. */
  | 'reject'
  /** RFC 8259 leaves it to us; docs/protocol.md says what we do. */
  | 'rounded'
  | 'infinite'
  | 'last wins'
  | 'as written'
  | 'too deep'
  | 'UTF-16'
  | 'no byte order mark';

/** One text of the corpus. */
export interface JsonCase {
  readonly name: string;
  readonly verdict: Verdict;
  readonly bytes: Buffer;
}

function toBytes(parts: readonly (string | readonly number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

/** @param parts text, and bytes that are none */
export function accept(name: string, ...parts: readonly (string | readonly number[])[]): JsonCase {
  return { name, verdict: 'accept', bytes: toBytes(parts) };
}

export function reject(name: string, ...parts: readonly (string | readonly number[])[]): JsonCase {
  return { name, verdict: 'reject', bytes: toBytes(parts) };
}

export function decide(
  verdict: Exclude<Verdict, 'accept' | 'reject'>,
  name: string,
  ...parts: readonly (string | readonly number[])[]
): JsonCase {
  return { name, verdict, bytes: toBytes(parts) };
}
