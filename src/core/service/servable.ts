import { StartupError } from '../base/startup-error.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import type { Log } from '../observe/log.ts';
import { type AnyRouter, Router, tableOf } from '../procedures/router.ts';
import type { DispatcherOptions } from './context.ts';

/**
 * What a service is made from: modules or a router, never both.
 *
 * @throws StartupError if there is nothing to serve, or an option of the wrong form
 */
export function toServable({
  modules,
  router,
}: DispatcherOptions): Pick<DispatcherOptions, 'modules' | 'router'> {
  if (modules !== undefined && router !== undefined) {
    throw new StartupError(
      'options modules and router: give one of them (a module exports its router and is replicated in the workers)',
    );
  }
  if (modules === undefined) {
    if (router === undefined) {
      throw new StartupError('nothing to serve: give the option modules: [path], or a router');
    }
    if (!Router.is(router)) throw new StartupError('option router: expected a Router');
    return { router };
  }
  const isList = Array.isArray(modules) && modules.length > 0;
  if (!isList || !modules.every((path) => typeof path === 'string' && path !== '')) {
    throw new StartupError('option modules: expected a list of one or more paths or file URLs');
  }
  return { modules };
}

/**
 * Warns of an empty router. The usual cause is a missing import, or registrations that come after the module has
 * loaded.
 */
export function warnOfNoProcedures(what: string, log: Log): void {
  log.warn(
    { event: 'no-procedures' },
    `${what} has no procedure: register them, or import what registers them, before it is served`,
  );
}

/**
 * Makes sure that all procedures of a router given as an object can run on this thread: workers load modules, and never
 * such a router. Warns of synchronous procedures, which block this thread.
 *
 * @param mayBeEmpty others serve procedures beside it
 * @throws StartupError if a procedure asks for a worker
 */
export function assertRunsInline(router: AnyRouter, log: Log, mayBeEmpty = false): void {
  const procedures = [...tableOf(router).values()];
  if (procedures.length === 0 && !mayBeEmpty) warnOfNoProcedures('the router', log);
  const stuck = procedures.find(
    ({ placement, group }) => placement === 'worker' || group !== undefined,
  );
  if (stuck !== undefined) {
    const declared = stuck.group === undefined ? "placement: 'worker'" : `group: '${stuck.group}'`;
    throw new StartupError(
      `procedure ${stuck.name} is declared ${declared}, but a router given as an object has no workers: put it in a module and serve that with the option modules`,
    );
  }
  const synchronous = procedures
    .filter(({ placement, isAsync }) => placement === 'auto' && !isAsync)
    .map(({ name }) => name);
  if (synchronous.length === 0) return;
  const some = synchronous.slice(0, 5).join(', ') + (synchronous.length > 5 ? ', ...' : '');
  log.warn(
    { event: 'synchronous-inline', procedures: synchronous.length },
    `synchronous procedures (${some}) run on the main thread: serve them with the option modules to run them in workers, or declare placement: 'inline'`,
  );
}

/**
 * The groups whose workers the procedures of a router need. Warns of groups that none of them names: a name may be
 * misspelt, and no worker is started for nothing.
 *
 * @param configured the names of the groups there are
 * @throws StartupError if a procedure names a group that is not among them
 */
export function usedGroups(router: AnyRouter, configured: readonly string[], log: Log): string[] {
  const used = new Set<string>();
  for (const { name, group } of tableOf(router).values()) {
    if (group === undefined) continue;
    used.add(group);
    if (configured.includes(group)) continue;
    const key = group.includes('-') ? `'${group}'` : group;
    throw new StartupError(
      `procedure ${name} is declared group: '${group}', which is not configured: give the option groups: { ${key}: { workers: 1 } }, or --group ${group}:workers=1${didYouMean(suggest(group, configured))}`,
    );
  }
  for (const group of configured) {
    if (used.has(group)) continue;
    log.warn(
      { event: 'group-unused', group },
      `no procedure is declared group: '${group}', so that the group gets no workers: declare it, or take the group out of the option groups`,
    );
  }
  return [...used];
}

/** Most names in a line, and most characters of each: those of a document may be of any length. */
const maxNames = 5;
const maxNameLength = 60;

/**
 * One line that names procedures without `returns`; undefined if there is none. What such a procedure returns is sent as
 * it is: members that nobody meant to send too.
 *
 * @param names those that a service has of its own, `rpc.discover` say, do not count
 */
export function undeclaredResults(names: readonly string[]): string | undefined {
  const own = names.filter((name) => !name.startsWith('rpc.')).sort();
  if (own.length === 0) return undefined;
  const list = shownNames(own);
  return own.length === 1
    ? `1 procedure has no \`returns\`: its result is neither projected nor checked: ${list}`
    : `${own.length} procedures have no \`returns\`: their results are neither projected nor checked: ${list}`;
}

/** One line that names strings which their patterns limit; undefined if there is none. */
export function limitsOfPatterns(strings: readonly string[]): string | undefined {
  if (strings.length === 0) return undefined;
  const list = shownNames(strings.toSorted());
  return strings.length === 1
    ? `1 string has no maxLength and a pattern that takes more than linear time, so it got one: ${list}`
    : `${strings.length} strings have no maxLength and patterns that take more than linear time, so they got one: ${list}`;
}

function shownNames(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map((name) => name.slice(0, maxNameLength));
  return [...shown, ...(names.length > maxNames ? ['...'] : [])].join(', ');
}
