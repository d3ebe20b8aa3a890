/** The line of JSON with which each message begins. Behind its newline come texts, or bytes. */
export type Head = Readonly<Record<string, unknown>>;

/** In place of a length: the rest of the message, as bytes. */
export const rest = -1;

/** What the numbers of a call, or of a reply, take in the line of JSON, as UTF-16 units of three bytes. */
export const numbersLength = 24;

const newline = 10;

/** @throws Error for what has no head */
export function split(data: Uint8Array): { readonly head: Head; readonly bytes: Uint8Array } {
  const at = data.indexOf(newline);
  const end = at === -1 ? data.byteLength : at;
  const { buffer, byteOffset } = data;
  const head: unknown = JSON.parse(Buffer.from(buffer, byteOffset, end).toString());
  if (typeof head !== 'object' || head === null) throw new Error('a message without a head');
  return { head: head as Head, bytes: data.subarray(Math.min(end + 1, data.byteLength)) };
}

/** Cuts texts off one after another. Their lengths are in UTF-16 units: the whole is decoded once. */
export function cutter({ buffer, byteOffset, byteLength }: Uint8Array): (length: number) => string {
  let text: string | undefined;
  let start = 0;
  return (length) => {
    text ??= Buffer.from(buffer, byteOffset, byteLength).toString();
    const cut = text.slice(start, start + length);
    if (cut.length !== length) throw new Error('a message that ends before its texts');
    start += length;
    return cut;
  };
}

export function withBytes(head: string, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${head}\n`), bytes]);
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new Error(`a text was expected, not ${typeof value}`);
}

export function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new Error(`a number was expected, not ${typeof value}`);
}

export function numbersOf(value: unknown): readonly number[] {
  if (Array.isArray(value) && value.every((one) => typeof one === 'number')) return value;
  throw new Error('a list of numbers was expected');
}
