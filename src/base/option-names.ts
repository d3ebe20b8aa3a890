import { StartupError } from './startup-error.ts';
import { suggest } from './suggest.ts';

/**
 * Makes sure that the options of a method are an object of members that it knows: one that is misspelt would be left
 * out, and nobody would be told.
 *
 * @param where the method
 * @param example what its options may look like
 * @param others names of the same thing elsewhere, each with the name that it has here
 * @throws StartupError
 */
export function assertOptionNames(
  where: string,
  options: unknown,
  names: readonly string[],
  example: string,
  others: Readonly<Record<string, string>> = {},
): void {
  if (typeof options !== 'object' || options === null) {
    throw new StartupError(`${where}: expected an object of options, such as ${example}`);
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const meant = Object.hasOwn(others, name) ? others[name] : suggest(name, names);
    const hint = meant === undefined ? `it takes ${names.join(', ')}` : `did you mean ${meant}?`;
    throw new StartupError(`${where}: unknown option ${name}, ${hint}`);
  }
}
