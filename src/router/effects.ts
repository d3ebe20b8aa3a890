import { RegistrationError } from './registration-error.ts';

/** What a procedure does to the world. Callers, tools and agents decide by it; nothing here enforces it. */
export interface Effects {
  /** Changes nothing that a caller could notice: the call may be repeated, and run beside others. */
  readonly readOnly?: boolean;
  /** Running the call twice has the effect of running it once: the call may be repeated. */
  readonly idempotent?: boolean;
  /** May destroy what can't be restored. */
  readonly destructive?: boolean;
  /** Reaches beyond this service: other systems, people. */
  readonly openWorld?: boolean;
}

const names = ['readOnly', 'idempotent', 'destructive', 'openWorld'] as const;

/**
 * @param where begins the message, e.g. `procedure "add"`
 * @returns undefined where nothing is said
 * @throws RegistrationError
 */
export function compileEffects(given: Effects | undefined, where: string): Effects | undefined {
  if (given === undefined) return undefined;
  const effects: { -readonly [Name in keyof Effects]: boolean } = {};
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    const known = names.find((one) => one === name);
    if (known === undefined || (value !== undefined && typeof value !== 'boolean')) {
      throw new RegistrationError(
        `${where}: effects.${name.slice(0, 64)} is none of ${names.join(', ')}, each true or false`,
      );
    }
    if (typeof value === 'boolean') effects[known] = value;
  }
  if (effects.readOnly === true && effects.destructive === true) {
    throw new RegistrationError(`${where}: effects can't be readOnly and destructive at once`);
  }
  // In the order above, so that the documents and fingerprints of replicas are equal.
  const ordered = names.flatMap((name) => (name in effects ? [[name, effects[name]]] : []));
  return ordered.length === 0 ? undefined : Object.freeze(Object.fromEntries(ordered) as Effects);
}

/** Whether running a call twice does no harm. */
export function mayRepeat({ effects }: { readonly effects: Effects | undefined }): boolean {
  return effects?.readOnly === true || effects?.idempotent === true;
}
