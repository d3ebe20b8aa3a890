import { type Plan, plan } from '../plans.ts';
import { shuffle } from '../random.ts';

/** Each fault, what its own call comes to, and the cause by which the server's log names a lost thread. */
export const faults: readonly { kind: string; outcome: string; cause?: string }[] = [
  { kind: 'loop', outcome: '-32001', cause: 'fault.loop' },
  { kind: 'regex', outcome: '-32001', cause: 'fault.regex' },
  { kind: 'spinLater', outcome: '-32001', cause: 'fault.spinLater' },
  { kind: 'never', outcome: '-32001' },
  { kind: 'exit', outcome: '-32603' },
  { kind: 'reallyExit', outcome: '-32002 exit', cause: 'exit' },
  { kind: 'exhaust', outcome: '-32002 memory', cause: 'memory' },
  { kind: 'throwLate', outcome: 'ok' },
  { kind: 'rejectLate', outcome: 'ok' },
  { kind: 'crash', outcome: '-32603' },
  { kind: 'bigint', outcome: '-32603' },
  { kind: 'cycle', outcome: '-32603' },
  { kind: 'recursion', outcome: '-32603' },
];

const faultOf = new Map(faults.map((fault) => [`fault.${fault.kind}`, fault]));

export function isHostile({ method }: Plan): boolean {
  return faultOf.has(method);
}

export function faultPlan(kind: string): Plan {
  return plan(kind, { method: `fault.${kind}` });
}

/** Every fault comes up as often as any other. */
export class Bag {
  readonly #random: () => number;
  #left: typeof faults = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  next(): Plan {
    if (this.#left.length === 0) this.#left = shuffle(this.#random, faults);
    const [first, ...rest] = this.#left;
    this.#left = rest;
    return faultPlan(first?.kind ?? '');
  }
}

/** A call of many that run together, one in so many of which takes their thread along. */
const poisonEvery = 40;

export function isAmongMany({ method }: Plan): boolean {
  return method === 'among.many';
}

function planOfMany(random: () => number): Plan {
  const roll = random();
  if (roll < 0.3) return plan('later', { method: 'many.later' });
  if (roll < 0.5) return plan('later', { method: 'in.many' });
  if (roll < 0.6) return plan('fail', { method: 'many' });
  if (roll < 0.8) return plan('echo', { method: 'many' });
  const isPoison = random() < 1 / poisonEvery;
  const kind = isPoison ? (random() < 0.5 ? 'reallyExit' : 'loop') : 'echo';
  return plan(kind, { method: 'among.many' });
}

export function goodPlan(random: () => number): Plan {
  if (random() < 0.4) return planOfMany(random);
  const roll = random();
  if (roll < 0.15) return plan('later', { method: 'long' });
  if (roll < 0.25) return plan('echo', { method: 'in.act' });
  if (roll < 0.3) return plan('fail', { method: 'long' });
  return plan('echo', { method: 'long' });
}

/** Whether a call may come to that, be it good or hostile. */
export function isAllowed({ method, params: { kind } }: Plan, outcome: string): boolean {
  const fault = faultOf.get(method);
  if (method === 'among.many') {
    const isPoison = kind !== 'echo';
    // A thread that is lost, or ended at the deadline, costs all that ran there together.
    return ['-32001', '-32002 exit'].includes(outcome) || (outcome === 'ok' && !isPoison);
  }
  // What waits is lost with its thread; nothing else is.
  const waits = kind === 'later' || kind === 'never' || kind === 'spinLater';
  if (waits && outcome === '-32002 neighbour') return true;
  if (fault !== undefined) return outcome === fault.outcome;
  return outcome === (kind === 'fail' ? '1001' : 'ok');
}
