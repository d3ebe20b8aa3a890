/** Handlers that take many calls at once: one query of SQL for all, and one pass over a model's weights for all. */
import Database from 'libsql';
import { type Env, inOrder, Router, Type } from 'tandem-rpc';
import { createLayer, multiply } from './layer.ts';

/** What each thread sets up for itself: its tables and its model. */
export function setup() {
  const db = new Database(':memory:');
  db.exec('CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
  const insert = db.prepare('INSERT INTO users (id, name) VALUES (?, ?)');
  for (let id = 1; id <= 1000; id++) if (id % 10 !== 0) insert.run(id, `user ${id}`);
  // The ids are one parameter, so that one prepared statement takes any number of them.
  const byIds = db.prepare(
    'SELECT id, name FROM users WHERE id IN (SELECT value FROM json_each(?))',
  );
  const close = (): void => void db.close();
  return { byIds, layer: createLayer(64), queries: 0, close };
}

type State = ReturnType<typeof setup>;
export const teardown = ({ close }: State): void => close();

interface Environment extends Env {
  state: State;
}
const router = new Router<Environment>();
const User = Type.Object({ id: Type.Integer(), name: Type.String() });

router.rpc(
  {
    name: 'users.get',
    params: Type.Object({ id: Type.Integer() }),
    returns: User,
    errors: { Gone: { code: 410, message: 'Gone' } },
    batch: { max: 64 },
  },
  (params, { state, errors }) => {
    const ids = params.map(({ id }) => id);
    state.queries++;
    const rows = state.byIds.all(JSON.stringify(ids)) as { id: number; name: string }[];
    // The database gives rows in its own order, each once, and none for an id that it does not have.
    return inOrder(
      ids,
      rows,
      ({ id }) => id,
      () => errors.Gone(),
    );
  },
);

/** How many queries this thread has made. */
router.rpc({ name: 'users.queries', returns: Type.Integer() }, (_params, { state }) => {
  return state.queries;
});

/** Matrix times matrix reads each weight once for all calls; matrix times vector reads all of them for each call. */
router.rpc(
  {
    name: 'model.score',
    params: Type.Object({ input: Type.Array(Type.Number(), { minItems: 64, maxItems: 64 }) }),
    returns: Type.Array(Type.Number()),
    batch: { max: 32 },
  },
  (params, { state }) =>
    multiply(
      state.layer,
      params.map(({ input }) => input),
    ),
);

/** Equal params run once. The caller is part of the key, since the answer may depend on who asks. */
router.rpc(
  {
    name: 'reports.of',
    params: Type.Object({ day: Type.String() }),
    returns: Type.Object({ day: Type.String(), made: Type.Integer() }),
    batch: { max: 64 },
  },
  (params, { calls }) => {
    const known = new Map<string, { day: string; made: number }>();
    return params.map(({ day }, i) => {
      const key = JSON.stringify([day, calls[i]?.auth]);
      const report = known.get(key) ?? makeReport(day);
      known.set(key, report);
      return report;
    });
  },
);

let reportsMade = 0;

function makeReport(day: string): { day: string; made: number } {
  return { day, made: ++reportsMade };
}

export default router;
