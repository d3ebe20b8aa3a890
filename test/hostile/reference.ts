import { isUtf8 } from 'node:buffer';
import {
  beginsLongArray,
  parseModel,
  type Reading,
  readModel,
  type Value,
} from '../jsonrpc/model.ts';
import {
  error,
  invalid,
  notFound,
  parseError,
  refused,
  result,
  tooLarge,
  wrongParams,
} from '../protocol/case.ts';

/** What a procedure of test/fixtures/hostile comes to, given the text of its params. */
type Outcome =
  | { readonly result: string }
  | { readonly error: (id: string) => string; readonly ran: boolean };

type Procedure = (params: string | undefined) => Outcome;

const noOrder = { path: '', expected: 'Record<string, unknown>', received: 'array' };

/** Takes any object, and gives it back; `[]` is no params. */
const any: Procedure = (params) => {
  const value: unknown = params === undefined ? {} : JSON.parse(params);
  if (Array.isArray(value) && value.length === 0) return { result: '{}' };
  if (Array.isArray(value)) return { error: (id) => refused(id, noOrder), ran: false };
  return { result: JSON.stringify(value) };
};

/** Gives back the member `value`, which the caller of this reference sends by name. */
const echo: Procedure = (params) => {
  const { value } = JSON.parse(params ?? '{}') as { value?: unknown };
  if (value === undefined) throw new Error(`no value in ${params}`);
  // docs/protocol.md, "Results": an infinite number as the result itself is what JSON can't hold.
  if (typeof value === 'number' && !Number.isFinite(value)) {
    const text = '{"ref":"(any)"}';
    return { error: (id) => error(id, -32603, 'Internal error', text), ran: true };
  }
  return { result: JSON.stringify(value) };
};

const generated = ['any', 'm', 'add', 'a.b', 'math.add'].map((name) => [name, any] as const);

/** The procedures of one placement, and of both under their prefixes. */
export const plainProcedures: ReadonlyMap<string, Procedure> = new Map([
  ...generated,
  ['echo', echo],
  ['padded', echo],
]);
export const placedProcedures: ReadonlyMap<string, Procedure> = new Map(
  ['in.', 'out.'].flatMap((place) =>
    [...plainProcedures].map(([name, procedure]) => [place + name, procedure] as const),
  ),
);

export interface Expected {
  /** undefined: nothing is answered. */
  readonly reply: string | undefined;
  /** How many calls ran, notifications too. */
  readonly runs: number;
}

const nothingRan = (reply: string): Expected => ({ reply, runs: 0 });
const maxDepth = 64;
const maxBatch = 1000;

/** The answer that docs/protocol.md gives a body, by the slow reader of test/jsonrpc/model.ts. */
export function referenceOf(
  body: Uint8Array,
  procedures: ReadonlyMap<string, Procedure>,
): Expected {
  if (!isUtf8(body)) return nothingRan(parseError);
  const text = Buffer.from(body).toString();
  if (isTooLong(text)) return nothingRan(tooLarge('null', maxBatch));
  const value = modelOf(text);
  if (value === undefined || value.depth > maxDepth) return nothingRan(parseError);
  if (value.kind !== 'array') return answerOf(readModel(text, value, false), procedures);
  if (value.items.length === 0) return nothingRan(invalid());
  const answers = value.items.map((item) => answerOf(readModel(text, item, false), procedures));
  const replies = answers.flatMap(({ reply }) => (reply === undefined ? [] : [reply]));
  const runs = answers.reduce((sum, answer) => sum + answer.runs, 0);
  return { reply: replies.length === 0 ? undefined : `[${replies.join(',')}]`, runs };
}

/** A batch too long is told by its first items: what stands behind them may be anything. */
function isTooLong(text: string): boolean {
  return withoutOverflow(() => beginsLongArray(text, maxBatch, maxDepth)) ?? false;
}

function modelOf(text: string): Value | undefined {
  return withoutOverflow(() => parseModel(text));
}

/** The descent has no more stack than any other: what is that deep is too deep, or no JSON. */
function withoutOverflow<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function answerOf(reading: Reading, procedures: ReadonlyMap<string, Procedure>): Expected {
  if ('invalid' in reading) {
    return nothingRan((reading.isOfParams ? wrongParams : invalid)(reading.invalid));
  }
  const { method, id, params } = reading;
  const procedure = procedures.get(method);
  const answered = (reply: (id: string) => string) => (id === undefined ? undefined : reply(id));
  if (procedure === undefined) return { reply: answered((id) => notFound(id, method)), runs: 0 };
  const outcome = procedure(params);
  if ('result' in outcome) return { reply: answered((id) => result(id, outcome.result)), runs: 1 };
  return { reply: answered(outcome.error), runs: outcome.ran ? 1 : 0 };
}

/** A reply without what the reference does not know: which name was nearest to one that is not there. */
export function withoutHints(reply: string): string {
  return reply.replace(/,"didYouMean":"(?:[^"\\]|\\.)*"/g, '');
}
