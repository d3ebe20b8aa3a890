import fc from 'fast-check';
import { type FrameOptions, frame, opcodes } from '../../http/socket/raw-socket.ts';
import { body } from '../../jsonrpc/bodies.ts';

/** What a client does next on its connection. As data, so that a failure shrinks to what matters. */
export type Move =
  | {
      readonly kind: 'message';
      /** The procedures of this placement are called. */
      readonly place: 'in.' | 'out.';
      readonly text: string;
      readonly isBinary: boolean;
      /** Where the message is cut into fragments. */
      readonly cuts: readonly number[];
      /** A ping between the fragments. */
      readonly pings: boolean;
    }
  | {
      readonly kind: 'stream';
      readonly place: 'in.' | 'out.';
      readonly count: number;
      /** Leaves when so many values have come; undefined: reads to the end. */
      readonly leaveAfter: number | undefined;
    }
  | { readonly kind: 'ping'; readonly size: number };

/** A frame as RFC 6455 does not allow it, or whose rest never comes. */
interface Broken {
  readonly payload: string;
  readonly options: FrameOptions;
}

export interface FrameCase {
  readonly moves: readonly Move[];
  /** What comes behind all of them; undefined: nothing. */
  readonly broken: Broken | undefined;
  /** Lengths of the writes, again and again: the frames are cut anywhere. */
  readonly writes: readonly number[];
}

const place = fc.constantFrom('in.' as const, 'out.' as const);

/** The generated names, with the placement before them. */
function placed(text: string, prefix: string): string {
  return text.replace(/("(?:any|m|add|a\.b|math\.add)")/g, (name) => `"${prefix}${name.slice(1)}`);
}

const message = fc
  .record({
    kind: fc.constant('message' as const),
    place,
    text: body,
    isBinary: fc.boolean(),
    cuts: fc.array(fc.nat({ max: 200 }), { maxLength: 4 }),
    pings: fc.boolean(),
  })
  .map((one) => ({ ...one, text: placed(one.text, one.place) }));

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 6, arbitrary: message },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('stream' as const),
      place,
      count: fc.nat({ max: 150 }),
      leaveAfter: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('ping' as const), size: fc.nat(125) }) },
);

const broken: fc.Arbitrary<Broken> = fc.record({
  payload: fc.constantFrom('', '{"method":"in.any"}', '\xff', 'x'.repeat(70_000)),
  options: fc.oneof(
    fc.record({ reserved: fc.constantFrom(0x10, 0x20, 0x40, 0x70) }),
    fc.record({ opcode: fc.constantFrom(3, 7, 11, 15) }),
    fc.record({ opcode: fc.constant(opcodes.rest) }),
    fc.record({ opcode: fc.constant(opcodes.ping), isLast: fc.constant(false) }),
    fc.record({ isMasked: fc.constant(false) }),
    fc.record({ isLast: fc.constant(false) }),
    fc.record({ length: fc.constantFrom(70_001, 2 ** 31, 2 ** 40) }),
    fc.record({ opcode: fc.constant(opcodes.close) }),
  ),
});

export const frameCase: fc.Arbitrary<FrameCase> = fc.record({
  moves: fc.array(move, { minLength: 1, maxLength: 8 }),
  broken: fc.option(broken, { nil: undefined, freq: 3 }),
  writes: fc.array(fc.integer({ min: 1, max: 300 }), { maxLength: 3 }),
});

/** The frames of a message. */
export function framesOf(one: Extract<Move, { readonly kind: 'message' }>): Buffer {
  const bytes = Buffer.from(one.text);
  const cuts = [...new Set(one.cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const ends = [...cuts, bytes.length];
  const first = one.isBinary ? opcodes.binary : opcodes.text;
  const frames = ends.flatMap((end, i) => {
    const part = bytes.subarray(ends[i - 1] ?? 0, end);
    const isLast = i === ends.length - 1;
    const made = frame(part, { opcode: i === 0 ? first : opcodes.rest, isLast });
    return one.pings && !isLast ? [made, frame('between', { opcode: opcodes.ping })] : [made];
  });
  return Buffer.concat(frames);
}

export function brokenFrame({ payload, options }: Broken): Buffer {
  return frame(Buffer.from(payload, 'latin1'), options);
}

/** Writes of one move at the most: the rest of a long one goes in one piece. */
const mostWrites = 40;

/** The bytes in several writes. */
export function* writesOf(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const given = i < mostWrites ? lengths[i % lengths.length] : undefined;
    const length = given ?? bytes.length;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}
