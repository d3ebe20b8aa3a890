import type { RequestFacts } from '../../router/lazy-context.ts';
import {
  Flag,
  type Frame,
  type FrameEntry,
  listed,
  none,
  numbersPerCall,
  textsPerFacts,
} from './frame.ts';

/** The calls of a frame, in their order. */
export function readFrame({ numbers, text, shared, facts }: Frame): FrameEntry[] {
  const entries: FrameEntry[] = [];
  let offset = 0;
  let nextShared = 0;
  let nextFacts = 0;
  const cut = (length: number): string => {
    const start = offset;
    offset += length;
    return text.slice(start, offset);
  };
  for (let at = 0; at < numbers.length; at += numbersPerCall) {
    const flags = numbers[at + 1] as number;
    const idLength = numbers[at + 5] as number;
    const sourceLength = numbers[at + 6] as number;
    const addressLength = numbers[at + 9] as number;
    const hasFacts = numbers[at + 10] === listed;
    const method = cut(numbers[at + 4] as number);
    const id = idLength === none ? undefined : cut(idLength);
    let source: string | Uint8Array | undefined;
    if (sourceLength <= listed) {
      source = new Uint8Array(sharedAt(shared, nextShared++), 0, listed - sourceLength);
    } else if (sourceLength !== none) source = cut(sourceLength);
    const address = addressLength === none ? undefined : { remoteAddress: cut(addressLength) };
    entries.push({
      ticket: numbers[at] as number,
      follows: (flags & Flag.follows) !== 0,
      isShort: (flags & Flag.short) !== 0,
      method,
      id,
      source,
      start: numbers[at + 7] as number,
      end: numbers[at + 8] as number,
      timeoutMs: numbers[at + 2] as number,
      expiresAt: numbers[at + 3] as number,
      facts: hasFacts ? new CrossedFacts(facts ?? [], textsPerFacts * nextFacts++) : address,
    });
  }
  return entries;
}

function sharedAt(shared: Frame['shared'], index: number): SharedArrayBuffer {
  const buffer = shared?.[index];
  if (buffer === undefined) throw new Error('a frame without the bytes that it names');
  return buffer;
}

/** The facts of one call. Each call has facts of its own: calls of one request share none. */
class CrossedFacts implements RequestFacts {
  readonly remoteAddress: string | undefined;
  readonly authText: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly #headersText: string | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(texts: readonly (string | undefined)[], at: number) {
    this.#headersText = texts[at];
    this.remoteAddress = texts[at + 1];
    this.authText = texts[at + 2];
    this.traceparent = texts[at + 3];
    this.tracestate = texts[at + 4];
  }

  get headers(): Readonly<Record<string, string>> | undefined {
    if (this.#headersText === undefined) return undefined;
    this.#headers ??= Object.freeze(JSON.parse(this.#headersText) as Record<string, string>);
    return this.#headers;
  }
}
