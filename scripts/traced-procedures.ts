/** A procedure whose way through the code trace-call.ts measures, and the procedures that trace it in the worker's thread. */
import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import { Router } from 'tandem-rpc';

const session = new Session();

export async function startTrace(): Promise<void> {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
}

/** The functions that have run in this thread so many times since the last trace, as `FILE NAME OFFSET`. */
export async function takeTrace(times: number): Promise<string[]> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith('file:'))
    .flatMap(({ url, functions }) =>
      functions
        .filter(
          ({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) >= times,
        )
        .map(
          ({ functionName, ranges }) =>
            `${fileURLToPath(url)} ${functionName} ${ranges[0]?.startOffset}`,
        ),
    );
}

const router = new Router();
router.rpc({ name: 'start', placement: 'worker' }, startTrace);
router.rpc({ name: 'take', placement: 'worker' }, ({ times }) => takeTrace(Number(times)));
router.rpc({ name: 'work', placement: 'worker' }, ({ n }) => ({ n }));
export default router;
