/** For each stage that a body passes in the main thread: the worst known body of a given size. */

/** Procedures to register beside those that are called: a misspelt name resembles all of them. */
export const procedures = 10_000;

export function procedureName(n: number): string {
  return `${'a'.repeat(240)}.${String(n).padStart(5, '0')}`;
}

/** Names of the members of one procedure's params. */
export const wide = Array.from({ length: 1000 }, (_, n) => `member.${String(n).padStart(4, '0')}`);

export interface StallBody {
  /** The stage that this body is the worst for. */
  readonly stage: string;
  readonly body: string;
  /** Sent as a string, which may hold characters that UTF-8 can't. */
  readonly asText?: boolean;
  /** Refused by `maxInFlight` before it is read. */
  readonly refused?: boolean;
}

/** A text of about `size` bytes: `head`, `unit` again and again, `tail`. */
function filled(size: number, head: string, unit: string, tail: string): string {
  const room = size - head.length - tail.length;
  const times = Math.max(1, Math.floor(room / Buffer.byteLength(unit)));
  return head + unit.repeat(times) + tail;
}

/** A batch of `size` characters and at most `most` calls. `call` makes the nth call. */
function batchOf(size: number, most: number, call: (n: number, room: number) => string): string {
  const room = Math.floor(size / most);
  const calls: string[] = [];
  for (let length = 2; calls.length < most; ) {
    const text = call(calls.length, room);
    length += text.length + 1;
    if (length > size && calls.length > 0) break;
    calls.push(text);
  }
  return `[${calls.join(',')}]`;
}

/** Tokens in an order that no branch predictor foresees. */
function mixed(size: number): string {
  const tokens = [
    '{}',
    '[]',
    '"a"',
    '1',
    'true',
    '-1.5e3',
    '"\\n"',
    '{"a":[1]}',
    '[[1,2],{}]',
    ' 0',
  ];
  const parts: string[] = [];
  let state = 1;
  for (let length = 0; length < size; ) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const token = tokens[(state >>> 16) % tokens.length] as string;
    parts.push(token);
    length += token.length + 1;
  }
  return parts.join(',');
}

const misspelt = (n: number, length: number): string => {
  const name = `${'a'.repeat(length - 8)}b${String(n).padStart(7, '0')}`;
  return `{"id":${n},"method":"${name}"}`;
};

/** Bodies of about `size` bytes each, with calls to the procedures of stall-procedures.ts. */
export function stallBodies(size: number): readonly StallBody[] {
  const one = (stage: string, head: string, unit: string, tail: string): StallBody => ({
    stage,
    body: filled(size, head, unit, tail),
  });
  const called = (method: string, room: number) =>
    filled(room, `{"id":1,"method":"${method}","params":{"values":[`, '{},', '0]}}');
  return [
    one('UTF-8: to be made text', '[{"x":"', '\u4e2d', '"}]'),
    one('UTF-8: to be passed over', '{"method":"none","x":"', 'é', '"}'),
    one('depth: at its bound, again and again', '[[', `${'['.repeat(60)}${']'.repeat(60)},`, '0]]'),
    one('envelope: blanks behind the params', '{"method":"inline","params":{}', ' ', ',"id":1}'),
    one('envelope: members without a meaning', '{', '"":0,', '"id":1,"method":"none"}'),
    one('envelope: names in escapes', '{', '"\\u0069\\u0069":0,', '"id":1,"method":"none"}'),
    one('envelope: an id again and again', '{', '"id":1,', '"id":1,"method":"none"}'),
    one('exact reader: small objects', '{"id":1,"method":"none","x":[', '{},', '0]}'),
    { stage: 'exact reader: a mixture', body: `{"id":1,"x":[${mixed(size)}],"method":"none"}` },
    one('exact reader: not JSON at its end', '{"id":1,"x":[', '{},', '}'),
    { ...one('exact reader: of text', '{"id":1,"x":["é",', '{},', '0]}'), asText: true },
    one('notification: looks like one', '{"method":"pooled","params":{"values":["', '\\"', '"]}}'),
    one('batch: too long', '[', '{},', '{}]'),
    one('batch: one call of another shape at its end', '[', '{"method":"none"},', '1]'),
    {
      stage: 'batch: inline calls',
      body: batchOf(size, 1000, (_, room) => called('inline', room)),
    },
    {
      stage: 'batch: pooled calls',
      body: batchOf(size, 1000, (_, room) => called('pooled', room)),
    },
    {
      stage: 'batch: few pooled calls',
      body: batchOf(size, 64, (_, room) => called('pooled', room)),
    },
    { stage: 'suggestions: short names', body: batchOf(size, 1000, (n) => misspelt(n, 16)) },
    { stage: 'suggestions: long names', body: batchOf(size, 1000, (n) => misspelt(n, 246)) },
    {
      stage: 'params: members that are not known',
      body: batchOf(size, 1000, (n, room) => {
        const head = `{"id":${n},"method":"wide","params":{`;
        const names = Array.from({ length: 8 }, (_, i) => `"member.x${n}${i}":0`).join();
        return filled(room, `${head}${names},`, '"b":0,', '"a":0}}');
      }),
    },
    {
      stage: 'params: more positions than members',
      body: batchOf(size, 1000, (_, room) =>
        filled(room, '{"id":1,"method":"inline","params":[', '0,', '0]}'),
      ),
    },
    one(
      'params: too many for an inline call',
      '{"id":1,"method":"inline","params":[',
      '{},',
      '0]}',
    ),
    {
      stage: 'replies: of a thousand calls',
      body: batchOf(size, 1000, (n) => `{"id":${n},"method":"long"}`),
    },
    {
      ...one('refusal: a notification', '{"method":"none","params":["', '\\"', '"]}'),
      refused: true,
    },
    { ...one('refusal: no JSON', '', '[', ''), refused: true },
    {
      stage: 'refusal: a batch',
      body: batchOf(size, 1000, (_, room) => called('none', room)),
      refused: true,
    },
  ];
}

/** The worst params that an inline call may have: only `maxInlineParamsBytes` limits them. */
export function largestInline(bytes: number): string {
  const units: string[] = [];
  for (let n = 0, length = 0; length < bytes - 100; n++) {
    const unit = `{"${n.toString(36)}":0}`;
    units.push(unit);
    length += unit.length + 1;
  }
  return `{"id":1,"method":"inline","params":{"values":[${units.join(',')}]}}`;
}
