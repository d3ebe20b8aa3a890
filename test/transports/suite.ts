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

/** The contract of `Service` (src/core/dispatch/service.ts), asked of a transport from the outside. */
export function conformance(subject: Subject): void {
  describe(`the contract of a transport: ${subject.name}`, needs(subject.server), () => {
    for (const one of cases) {
      if (one.needs?.every((ability) => subject.can.includes(ability)) === false) continue;
      test(one.name, async () => {
        const stage = await Stage.open(subject, one.options ?? {});
        try {
          await one.run(stage);
        } catch (error) {
          void stage.abandon();
          throw error;
        }
        await stage.close();
      });
    }
  });
}
