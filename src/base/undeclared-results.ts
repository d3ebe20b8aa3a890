/** Most procedures that are named, and most characters of each name: names of a document may be of any length. */
const mostNames = 5;
const longestName = 60;

/**
 * One line that names procedures without `returns`; undefined where there is none. What such a procedure returns is sent as
 * it is: members that nobody meant to send too.
 *
 * @param names those that a service has of its own, `rpc.discover` say, do not count
 */
export function undeclaredResults(names: readonly string[]): string | undefined {
  const own = names.filter((name) => !name.startsWith('rpc.')).sort();
  if (own.length === 0) return undefined;
  const shown = own.slice(0, mostNames).map((name) => name.slice(0, longestName));
  const list = [...shown, ...(own.length > mostNames ? ['...'] : [])].join(', ');
  return own.length === 1
    ? `1 procedure has no \`returns\`: its result is neither projected nor checked: ${list}`
    : `${own.length} procedures have no \`returns\`: their results are neither projected nor checked: ${list}`;
}
