import { RegistrationError } from '../base/registration-error.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import type { ObjectNode } from '../schema/model.ts';

/** By what the calls of a procedure are brought to one worker: see the option `affinity`. */
export interface Affinity {
  /** undefined: by caller. */
  readonly param: string | undefined;
  /** The text before the value of the param, in params as they come. */
  readonly mark: string;
}

interface Options {
  readonly affinity?: string | undefined;
  readonly batch?: unknown;
  readonly placement?: string | undefined;
}

/**
 * @param params undefined: any object is taken
 * @returns undefined if any worker takes the calls
 * @throws RegistrationError
 */
export function compileAffinity(
  { affinity, batch, placement }: Options,
  params: ObjectNode | undefined,
  where: string,
): Affinity | undefined {
  if (affinity === undefined) return undefined;
  if (batch !== undefined) {
    throw new RegistrationError(
      `${where}: option affinity can't stand beside batch, whose calls run together whatever their keys: leave one of the two out`,
    );
  }
  if (placement === 'inline') {
    throw new RegistrationError(
      `${where}: option affinity (${affinity}) chooses among workers, and placement is 'inline': leave one of the two out`,
    );
  }
  if (affinity === 'caller') return Object.freeze({ param: undefined, mark: '' });
  const names = params?.members.map(({ name }) => name);
  if (names !== undefined && !names.includes(affinity)) {
    throw new RegistrationError(
      `${where}: option affinity must be 'caller' or a param (${names.join(', ')}), got ${JSON.stringify(affinity)}${didYouMean(suggest(affinity, names))}`,
    );
  }
  return Object.freeze({ param: affinity, mark: `${JSON.stringify(affinity)}:` });
}
