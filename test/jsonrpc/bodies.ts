import fc from 'fast-check';

/** A generator of numbers below a bound that depends on its seed alone. */
export type Random = (below: number) => number;

export function randomOf(start: number): Random {
  let state = start | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) % below;
  };
}

/** Pieces that matter to a reader of envelopes. */
const pieces = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\"',
  '\\\\',
  ' ',
  '\n',
  '\t',
  '0',
  '-',
  '1.0',
  '1e3',
  '01',
  'null',
  'true',
  'nul',
  '"id"',
  '"id":1',
  ',"id":2',
  '"\\u0069d":3',
  '"params"',
  ',"params":{}',
  '"method":"m"',
  ',"method":"m"',
  '"jsonrpc":"2.0"',
  ',"jsonrpc":"2.0"',
  ',"jsonrpc":"1.0"',
  '{}',
  '[]',
  '""',
  '\u0000',
  '\u001f',
  '\u007f',
  '\u00a0',
  '\ufeff',
  'é',
  '\ud800',
];

/** Mostly one change, at times three: what breaks a reader is a small thing in the wrong place. */
export function mutate(text: string, random: Random): string {
  let result = text;
  for (let n = random(4) === 0 ? 3 : 1; n > 0; n--) result = mutateOnce(result, random);
  return result;
}

function mutateOnce(text: string, random: Random): string {
  const at = random(text.length + 1);
  const length = 1 + random(random(4) === 0 ? 20 : 3);
  const piece = pieces[random(pieces.length)] as string;
  const head = text.slice(0, at);
  switch (random(8)) {
    case 6: // a blank where one may stand
      return text.replace(/[,:{}[\]]/g, (mark) => (random(8) === 0 ? `${mark}\n` : mark));
    case 7: // another digit
      return text.replace(/[0-9]/g, (digit) => (random(4) === 0 ? String(random(10)) : digit));
    case 0: // cut out
      return head + text.slice(at + length);
    case 1: // put in
      return head + piece + text.slice(at);
    case 2: // put in place of
      return head + piece + text.slice(at + length);
    case 3: // say twice
      return head + text.slice(at, at + length) + text.slice(at);
    case 4: // move
      return head + text.slice(at + length) + text.slice(at, at + length);
    default: // cut off, at either end
      return random(2) === 0 ? head : text.slice(at);
  }
}

const blanks = fc.constantFrom('', '', '', ' ', '\n', '\t', '\r\n', '  ');

function escaped(text: string): fc.Arbitrary<string> {
  return fc.constantFrom('none', 'first', 'all').map((how) => {
    const hex = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
    if (how === 'none') return `"${text}"`;
    const count = how === 'all' ? text.length : 1;
    return `"${Array.from(text, (c, i) => (i < count ? hex(c) : c)).join('')}"`;
  });
}

const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(
      '1',
      '-0',
      '1.50',
      '2e2',
      'null',
      'true',
      '""',
      '"}"',
      '"]"',
      '"a\\"b"',
      '"\\\\"',
    ),
    fc.constantFrom('"id"', '"id\\":1,"', '",\\"id\\":5}"', '"é"', '"\\ud800"', '"{[\\"id\\":1"'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
    fc
      .array(
        fc.tuple(fc.constantFrom('"a"', '"id"', '"params"', '"__proto__"', '""'), tie('value')),
        {
          maxLength: 3,
        },
      )
      .map((members) => `{${members.map(([name, v]) => `${name}:${v}`).join(',')}}`),
  ),
})).value;

const params = fc.oneof(
  { weight: 8, arbitrary: value.filter((text) => /^[[{]/.test(text)) },
  { weight: 1, arbitrary: value },
);
const id = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('1', '7', '"x"', 'null', '9007199254740993', '-5') },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '1.0',
      '1e3',
      '-0',
      '0',
      '""',
      '"a\\nb"',
      '"\\u0031"',
      '"é"',
      'true',
      '{}',
      '[1]',
      '01',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom(255, 256, 257).map((n) => `"${'i'.repeat(n)}"`) },
  { weight: 1, arbitrary: fc.constantFrom(255, 256, 257).map((n) => '7'.repeat(n)) },
);
const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('"m"', '"add"', '"a.b"', '"__proto__"') },
  { weight: 1, arbitrary: fc.constantFrom('""', '1', 'null', '"a\\u0062"', '"é"', '"a\\"b"') },
  { weight: 1, arbitrary: fc.constantFrom(255, 256, 257).map((n) => `"${'m'.repeat(n)}"`) },
);
const version = fc.constantFrom('"2.0"', '"2.0"', '"2.0"', '"2.\\u0030"', '"1.0"', '2.0', 'null');

function member(name: string, content: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const spelled = fc.oneof(
    { weight: 12, arbitrary: fc.constant(`"${name}"`) },
    { weight: 1, arbitrary: escaped(name) },
  );
  return fc
    .tuple(blanks, spelled, blanks, blanks, content, blanks)
    .map(([a, key, b, c, text, d]) => `${a}${key}${b}:${c}${text}${d}`);
}

const usual = [
  member('jsonrpc', version),
  member('method', method),
  member('params', params),
  member('id', id),
];
const unusual = fc.oneof(...usual, member('extra', value), member('Id', value));

const orders = fc.constantFrom(
  'v m p i',
  'v i m p',
  'm p i',
  'i m p',
  'm p i v',
  'm p',
  'v m i',
  'i m',
  'm p v i',
);
const plainName = fc.constantFrom('"m"', '"add"', '"math.add"');
const plainParams = value.filter((text) => /^[[{]/.test(text));
const plainId = fc.constantFrom('1', '-20', '"x"', 'null', '9007199254740993', '""');
const plainBlank = fc.constantFrom('', ' ', '\n');

function written(order: string, name: string, given: string, id: string, blank: string): string {
  const texts: Record<string, string> = {
    v: `"jsonrpc":${blank}"2.0"`,
    m: `"method":${blank}${name}`,
    p: `"params":${blank}${given}`,
    i: `"id":${blank}${id}`,
  };
  const members = order.split(' ').map((letter) => texts[letter]);
  return `{${blank}${members.join(`,${blank}`)}${blank}}${blank}`;
}

/** As clients write them. */
const plain: fc.Arbitrary<string> = fc
  .tuple(orders, plainName, plainParams, plainId, plainBlank)
  .map((parts) => written(...parts));

/** As one client writes them: its requests differ in id and params, now and then in the method. */
export const plainBatch: fc.Arbitrary<string> = fc
  .tuple(
    orders,
    plainBlank,
    fc.array(fc.tuple(fc.nat(7), plainName, plainParams, plainId), { minLength: 1, maxLength: 5 }),
  )
  .map(([order, blank, requests]) => {
    const texts = requests.map(([odd, name, given, id]) =>
      written(order, odd === 0 ? name : '"add"', given, id, blank),
    );
    return `[${blank}${texts.join(`,${blank}`)}]`;
  });

/** JSON text of something that is a request, or nearly one; members in any order. */
const any: fc.Arbitrary<string> = fc
  .tuple(
    fc.shuffledSubarray([0, 1, 2, 3], { minLength: 2 }),
    fc.tuple(...usual),
    fc.array(unusual, { maxLength: 1 }),
    fc.nat(),
    fc.boolean(),
    blanks,
    blanks,
  )
  .map(([order, members, odd, at, withOdd, before, after]) => {
    const all = order.map((index) => members[index] as string);
    if (withOdd) all.splice(at % (all.length + 1), 0, ...odd);
    return `${before}{${all.join(',')}}${after}`;
  });

export const request: fc.Arbitrary<string> = fc.oneof(plain, any);

/** A request or a batch. */
export const body: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: request },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.array(fc.oneof(request, request, value), { maxLength: 4 }), blanks)
      .map(([entries, blank]) => `${blank}[${entries.join(`${blank},`)}]${blank}`),
  },
);
