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

/**
 * Names for tools, one for each procedure, in their order. A name that needs no change stays. Names that are too long, or
 * that would be the same, get a mark that depends on the procedure's name alone.
 */
export function toolNames(procedures: readonly string[]): string[] {
  const own = new Set(procedures);
  const plain = procedures.map(plainName);
  const met = new Set<string>();
  /** Plain names of several procedures. */
  const shared = new Set(plain.filter((name) => met.size === met.add(name).size));
  const taken = new Set<string>();
  return procedures.map((procedure, i) => {
    let name = plain[i] ?? procedure;
    const isFree = name === procedure || !(shared.has(name) || own.has(name));
    for (let attempt = 0; name.length > longest || !isFree || taken.has(name); attempt++) {
      name = markedName(procedure, attempt);
      if (!taken.has(name) && !own.has(name)) break;
    }
    taken.add(name);
    return name;
  });
}
