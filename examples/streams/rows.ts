/** `trips.rows`: the rows of a large SQLite query, one by one, from a worker: its memory stays flat whatever their number. */
import Database from 'libsql';
import { Router, Type } from 'tandem-rpc';

const router = new Router<{ state: Database.Database }>();
export default router;

const rows = 1_000_000;

/** Each thread has a database of its own, filled at its start. */
export const setup = (): Database.Database => {
  const db = new Database(':memory:');
  db.exec(`
    CREATE TABLE trips (id INTEGER PRIMARY KEY, km REAL NOT NULL);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})
    INSERT INTO trips SELECT i, (i * 7919 % 1000) / 10.0 FROM n;
  `);
  return db;
};
export const teardown = (db: Database.Database): void => {
  db.close();
};

const Trip = Type.Object({ id: Type.Integer(), km: Type.Number() });

router.rpc(
  {
    name: 'trips.rows',
    doc: 'The trips of at least so many kilometres, in the order of their ids.',
    params: { minKm: Type.Number({ default: 0 }) },
    yields: Trip,
    returns: Type.Object({ count: Type.Integer() }),
  },
  // A generator that is no `async` one runs in a worker: stepping through a query burns CPU.
  function* ({ minKm }, { state }) {
    let count = 0;
    const query = state.prepare('SELECT id, km FROM trips WHERE km >= ? ORDER BY id');
    for (const trip of query.iterate(minKm)) {
      count++;
      yield trip as { id: number; km: number };
    }
    return { count };
  },
);
