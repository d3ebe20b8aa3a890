import { messageOf } from '../src/core/base/message-of.ts';
import type { Options } from './options.ts';
import { Child } from './process/child.ts';
import type { SuiteResult } from './results.ts';
import { type RunEvents, runSuite } from './run.ts';
import type { Plan, Suite } from './suite.ts';
import type { Target } from './targets.ts';

/** What was measured so far. */
export interface Outcome {
  readonly suites: readonly SuiteResult[];
  readonly targets: readonly Target[];
  /** A line for each suite that failed. */
  readonly failures: readonly string[];
}

export interface SuiteEvents extends RunEvents {
  /** Called behind each suite that was measured, so that nothing that follows can take its figures away. */
  onSuite(outcome: Outcome): void;
  onFailure(message: string): void;
}

/** Runs suites one after another. A suite that fails costs its own figures only: the next ones are measured. */
export async function runSuites(
  chosen: readonly { readonly suite: Suite; readonly plan: Plan }[],
  options: Options,
  events: SuiteEvents,
): Promise<Outcome> {
  const suites: SuiteResult[] = [];
  const targets: Target[] = [];
  const failures: string[] = [];
  for (const { suite, plan } of chosen) {
    try {
      const series = await runSuite(suite, plan, options, events);
      targets.push(...suite.report(series));
      const { name, about } = suite;
      suites.push({ name, about, subjects: plan.subjects, series: series.all });
      events.onSuite({ suites, targets, failures });
    } catch (error) {
      const message = `${suite.name} failed: ${messageOf(error)}`;
      failures.push(message);
      events.onFailure(message);
      // What the suite left running would take its share of the machine from the next one.
      await Child.stopAll();
    }
  }
  return { suites, targets, failures };
}
