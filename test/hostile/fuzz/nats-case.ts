import fc from 'fast-check';
import { body, mutate, randomOf } from '../../jsonrpc/bodies.ts';

/** What a gateway that keeps to the protocol sends next. As data, so that a failure shrinks to what matters. */
export type Move =
  | {
      readonly kind: 'frame';
      readonly bodies: readonly string[];
      /** Each call begins when the one before it has ended. */
      readonly inOrder: boolean;
      /** The same frame once more: it must not run twice. */
      readonly isRepeated: boolean;
    }
  | { readonly kind: 'large'; readonly body: string; readonly cuts: readonly number[] }
  | { readonly kind: 'stream'; readonly place: 'in.' | 'out.'; readonly count: number };

/** What somebody else sends who does not keep to it. */
export interface Garbage {
  readonly to: 'member' | 'gateway' | 'heartbeat' | 'document';
  readonly text: string;
  /** Seed of the changes to the text; undefined: none. */
  readonly changes: number | undefined;
}

export interface NatsCase {
  readonly moves: readonly Move[];
  readonly garbage: readonly Garbage[];
  /** Bodies of JSON-RPC at `S.rpc`, and through a gateway. */
  readonly bodies: readonly string[];
  /** Payloads for the subject of one procedure. */
  readonly payloads: readonly string[];
}

/** The generated names, with a placement before them. */
function placed(text: string, prefix: string): string {
  return text.replace(/("(?:any|m|add|a\.b|math\.add)")/g, (name) => `"${prefix}${name.slice(1)}`);
}

/** Lone surrogates do not cross in UTF-8. */
const crossing = (text: string): string => Buffer.from(text).toString();

const place = fc.constantFrom('in.' as const, 'out.' as const);
const changes = fc.option(fc.integer(), { nil: undefined, freq: 1 });

function changed(text: string, seed: number | undefined): string {
  return seed === undefined ? text : mutate(text, randomOf(seed));
}

const placedBody = fc
  .tuple(body, place, changes)
  .map(([text, prefix, seed]) => crossing(placed(changed(text, seed), prefix)));

/** A gateway takes batches apart. */
const call = placedBody.filter((text) => !/^\s*\[/.test(text));

const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('frame' as const),
      bodies: fc.array(call, { minLength: 1, maxLength: 4 }),
      inOrder: fc.boolean(),
      isRepeated: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('large' as const),
      body: call.filter((text) => text.length > 0),
      cuts: fc.array(fc.nat({ max: 200 }), { maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('stream' as const),
      place,
      count: fc.nat({ max: 60 }),
    }),
  },
);

const number = fc.constantFrom(
  '0',
  '1',
  '2',
  '77',
  '-1',
  '-5',
  '1.5',
  '1e308',
  'null',
  '"7"',
  '[]',
);
const numbers = fc.array(number, { maxLength: 13 }).map((some) => `[${some.join(',')}]`);

/** Mostly as it would be right: `S` the session, `N` the number of the next frame. */
const right = (text: string) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(text) }, { weight: 1, arbitrary: number });

/** `G` is who sends it. */
const sender = fc.constantFrom('"G"', '"G"', '"G"', '"G"', '"*"', '"a b"', '""', '7');

const calls = fc.oneof(
  numbers,
  fc.constantFrom('[1,0,-1,-1,-1,2]', '[1,2,5,5,0,30]', '[1,1,0,0,0,-1]', '[1,0,-1,-1,0,-1]'),
);
const facts = fc.constantFrom('[]', 'null', '[7]', '[{"headers":7,"auth":"{"}]', '{"0":{}}', '"f"');
const part = fc.constantFrom(
  '[1,2]',
  '[1,-5]',
  '[1,0.5]',
  '[1,1e308]',
  '[1]',
  '[]',
  '7',
  '[1,70000]',
);
const replies = fc.oneof(numbers, fc.constantFrom('[1,0,0,5,2]', '[1,9,0,5,-1]', '[1,1,0,0,4000]'));
/** None that a gateway could take for the answer to its sync: that would open a session with nobody. */
const epoch = fc.constantFrom('77', '-1', '"1"', 'null', '7e7');

type Members = readonly (readonly [name: string, value: fc.Arbitrary<string>])[];

const framed: Members = [
  ['g', sender],
  ['s', right('S')],
  ['n', right('N')],
  ['a', number],
];

/** The members of each kind of head. */
const heads: Readonly<Record<'member' | 'gateway', readonly Members[]>> = {
  member: [
    [...framed, ['c', calls]],
    [...framed, ['c', calls], ['f', facts]],
    [...framed, ['p', part]],
    [
      ['g', sender],
      ['s', right('S')],
      ['a', number],
      ['x', numbers],
      ['w', numbers],
      ['d', numbers],
    ],
    [
      ['g', sender],
      ['sync', number],
      ['s', right('S')],
      ['have', number],
      ['next', number],
    ],
  ],
  gateway: [
    [
      ['s', number],
      ['n', number],
      ['got', number],
      ['load', number],
      ['r', replies],
    ],
    [
      ['s', number],
      ['n', number],
      ['got', number],
      ['load', number],
      ['p', number],
    ],
    [
      ['s', number],
      ['got', number],
      ['synced', epoch],
      ['from', number],
    ],
    [['gap', number]],
  ],
};

/** Whole, or with something left out. */
function headOf(to: 'member' | 'gateway'): fc.Arbitrary<string> {
  const kinds = heads[to].map((members) =>
    fc
      .tuple(
        fc.tuple(...members.map(([name, value]) => value.map((text) => `"${name}":${text}`))),
        fc.nat({ max: 3 * members.length }),
      )
      .map(([all, missing]) => `{${all.filter((_, i) => i !== missing).join(',')}}`),
  );
  return fc.oneof(...kinds);
}

const rest = fc.constantFrom(
  '',
  '\n',
  '\n{}',
  '\n{"method":"in.any"}',
  '\n\u0000é{"id":1}',
  ' \n\n',
);

const heartbeat = fc
  .record({
    state: fc.constantFrom('"ready"', '"draining"', '"other"', '7'),
    contract: fc.constantFrom('"none"', '"a b"', '""', `"${'c'.repeat(300)}"`, 'null'),
    started: number,
    load: number,
    returns: number,
  })
  .map((members) => {
    const texts = Object.entries(members).map(([name, text]) => `"${name}":${text}`);
    return `{"id":"M","version":"1.0.0",${texts.join(',')}}`;
  });

const garbage: fc.Arbitrary<Garbage> = fc.oneof(
  ...(['member', 'gateway'] as const).map((to) =>
    fc.record({
      to: fc.constant(to),
      text: fc.tuple(headOf(to), rest).map(([head, tail]) => head + tail),
      changes,
    }),
  ),
  fc.record({ to: fc.constant('heartbeat' as const), text: heartbeat, changes }),
  fc.record({
    to: fc.constant('document' as const),
    text: number.map((from) => `{"from":${from}}`),
    changes,
  }),
);

export const natsCase: fc.Arbitrary<NatsCase> = fc.record({
  moves: fc.array(move, { minLength: 1, maxLength: 5 }),
  garbage: fc.array(garbage, { maxLength: 8 }),
  bodies: fc.array(placedBody, { maxLength: 3 }),
  payloads: fc.array(
    fc.tuple(body, changes).map(([text, seed]) => changed(text, seed)),
    {
      maxLength: 2,
    },
  ),
});

/** Who sends garbage, and where its session with the member stands. */
export interface Sender {
  readonly id: string;
  session: number;
  /** The number of its next frame. */
  next: number;
}

export function garbageBytes({ text, changes: seed }: Garbage, from: Sender): Buffer {
  const named = text
    .replace(/"[GM]"/, `"${from.id}"`)
    .replace('"s":S', `"s":${from.session}`)
    .replace('"n":N', () => `"n":${from.next++}`);
  const bytes = Buffer.from(changed(named, seed));
  if (seed === undefined || bytes.length === 0) return bytes;
  const random = randomOf(seed);
  if (random(6) === 0) bytes[random(bytes.length)] = random(256);
  return bytes;
}
