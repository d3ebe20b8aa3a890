import fc from 'fast-check';

/**
 * FUZZ_SEED repeats the choices of a run, FUZZ_PATH (printed with a failure) goes straight to the failing
 * case of it. Without them each run is another.
 */
export const seed = Number(process.env.FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
export const path = process.env.FUZZ_PATH;

export interface FuzzParameters {
  readonly seed: number;
  readonly path?: string;
  /** How many cases. */
  readonly runs: number;
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
  { seed, path, runs }: FuzzParameters,
): Promise<void> {
  const details = await fc.check(property as fc.IAsyncProperty<[unknown]>, {
    seed,
    numRuns: runs,
    includeErrorInReport: true,
    ...(path !== undefined && { path }),
  });
  if (!details.failed) return;
  const { counterexamplePath, counterexample, errorInstance } = details;
  const shown = fc.stringify(counterexample);
  const what = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  throw new Error(
    `FUZZ_SEED=${seed} FUZZ_PATH=${counterexamplePath}\n${what}\ncase: ${shown.slice(0, maxShown)}`,
    { cause: errorInstance },
  );
}
