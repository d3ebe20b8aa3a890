import { operands } from '../fixed.ts';
import { createPool } from '../piscina.ts';
import { assertRight, type HopSubject, variety } from './contract.ts';

/** One thread, one `run` for each call: objects in and out, without JSON-RPC. */
export function createPiscina(concurrentTasksPerWorker: number | undefined): HopSubject {
  const pool = createPool(
    1,
    concurrentTasksPerWorker === undefined ? {} : { concurrentTasksPerWorker },
  );
  const params = Array.from({ length: variety }, (_, n) => operands(n));
  return {
    call: async (n) => {
      const { a, b } = params[n] as { a: number; b: number };
      assertRight((await pool.run({ a, b })) === a + b);
    },
  };
}
