import { describe, test } from 'node:test';
import { needs } from '../servers.ts';
import { answers } from './cases/answers.ts';
import { callers } from './cases/callers.ts';
import { ends } from './cases/ends.ts';
import { limits } from './cases/limits.ts';
import { Stage, type StageOptions } from './stage.ts';
import type { Ability, Subject } from './subject.ts';

/** One thing that is true of every transport. */
export interface TransportCase {
  readonly name: string;
  /** It is asked of those alone that can it. */
  readonly needs?: readonly Ability[];
  readonly options?: StageOptions;
  run(stage: Stage): Promise<void>;
}

const cases: readonly TransportCase[] = [...answers, ...limits, ...callers, ...ends];

/** The cases that a transport can be asked. */
export function casesFor({ can }: Subject): readonly TransportCase[] {
  return cases.filter(({ needs = [] }) => needs.every((ability) => can.includes(ability)));
}

/**
 * Runs one case with a service of its own.
 *
 * @param limit ends a case that waits for what never comes
 * @throws what the case throws, or the limit
 */
export async function runCase(
  subject: Subject,
  one: TransportCase,
  limit?: Promise<never>,
): Promise<void> {
  const stage = await Stage.open(subject, one.options ?? {});
  const run = one.run(stage);
  try {
    await (limit === undefined ? run : Promise.race([run, limit]));
  } catch (error) {
    void stage.abandon();
    throw error;
  }
  await stage.close();
}

/** The contract of `Service` (src/core/dispatch/service.ts), asked of a transport from the outside. */
export function conformance(subject: Subject): void {
  describe(`the contract of a transport: ${subject.name}`, needs(subject.server), () => {
    for (const one of casesFor(subject)) test(one.name, () => runCase(subject, one));
  });
}
