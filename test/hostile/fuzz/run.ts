import fc from 'fast-check';

export interface FuzzParameters {
  readonly seed: number;
  /** Goes straight to one case of that seed; printed with a failure. */
  readonly path?: string;
  /** How many cases. */
  readonly runs: number;
  /** false: the first case that fails is told as it came. Otherwise the smallest one that fails is looked for. */
  readonly shrinks?: boolean;
}

/** Something that hostile data are thrown at, for many rounds. */
export interface Fuzzer {
  /** One round. @throws Error with the seed, the path and the shrunk case of what failed */
  run(parameters: FuzzParameters): Promise<void>;
  close(): Promise<void>;
}

/** Characters of a case. */
const maxShown = 4000;

export async function assertProperty(
  property: fc.IAsyncProperty<unknown[]>,
  { seed, path, runs, shrinks = true }: FuzzParameters,
): Promise<void> {
  const details = await fc.check(property as fc.IAsyncProperty<[unknown]>, {
    seed,
    numRuns: runs,
    includeErrorInReport: true,
    endOnFailure: !shrinks,
    ...(path !== undefined && { path }),
  });
  if (!details.failed) return;
  const { counterexamplePath, counterexample, errorInstance } = details;
  const shown = fc.stringify(counterexample);
  const what = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  throw new Error(
    `--seed ${seed} --path ${counterexamplePath}\n${what}\ncase: ${shown.slice(0, maxShown)}`,
    { cause: errorInstance },
  );
}
