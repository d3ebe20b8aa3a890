import { createHash } from 'node:crypto';

/**
 * Longest name of a tool. The specification allows 128 characters and dots; several hosts that many people use refuse
 * both.
 */
const longest = 64;

/** `_` and 8 hexadecimal digits. */
const markLength = 9;

/** The name that a model calls a procedure by, where no other procedure has the same one. */
function plainName(procedure: string): string {
  return procedure.replace(/[^\w-]/g, '_');
}

function markedName(procedure: string, attempt: number): string {
  const hash = createHash('sha256').update(attempt === 0 ? procedure : `${procedure} ${attempt}`);
  return `${plainName(procedure).slice(0, longest - markLength)}_${hash.digest('hex').slice(0, 8)}`;
}

/** Names that are made in one turn of the event loop: a millisecond, where each of them needs a hash. */
const perTurn = 250;

/**
 * Names for tools, one for each procedure, in their order. A name that needs no change stays. Names that are too long, or
 * that would be the same, get a mark that depends on the procedure's name alone. Pauses where others may be served.
 */
export function* toolNames(procedures: readonly string[]): Generator<void, string[]> {
  const own = new Set(procedures);
  const plain: string[] = [];
  const met = new Set<string>();
  /** Plain names of several procedures. */
  const shared = new Set<string>();
  for (const [i, procedure] of procedures.entries()) {
    if (i > 0 && i % perTurn === 0) yield;
    const name = plainName(procedure);
    plain.push(name);
    if (met.has(name)) shared.add(name);
    else met.add(name);
  }
  const names: string[] = [];
  const taken = new Set<string>();
  for (const [i, procedure] of procedures.entries()) {
    if (i > 0 && i % perTurn === 0) yield;
    let name = plain[i] ?? procedure;
    const isFree = name === procedure || !(shared.has(name) || own.has(name));
    for (let attempt = 0; name.length > longest || !isFree || taken.has(name); attempt++) {
      name = markedName(procedure, attempt);
      if (!taken.has(name) && !own.has(name)) break;
    }
    taken.add(name);
    names.push(name);
  }
  return names;
}
