import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient } from '../../src/client/index.ts';
import { play } from './play.ts';
import { findPostgres, startPostgres } from './postgres-server.ts';

describe('docs/recipes/postgres.md', () => {
  it('books, rolls back, cancels and bounds its connections', async (t) => {
    const database = await startPostgres();
    t.after(() => database.stop());
    const { terminal } = await play('postgres', {
      ports: [['5432', database.port]],
      paths: [findPostgres() ?? ''],
    });
    t.after(() => terminal.close());
    const client = createClient({ url: `http://127.0.0.1:${terminal.portOf('8000')}/rpc` });

    await t.test('the second booking has left nothing behind', () => {
      assert.equal(database.query('SELECT seat, who FROM seats ORDER BY seat'), 'a1|ann\na2|ann');
    });

    const running = () =>
      database.query(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep%' AND pid <> pg_backend_pid()",
      );
    /** Asks the database until so many reports run there. */
    const reports = async (count: string): Promise<void> => {
      while (running() !== count) await new Promise(setImmediate);
    };

    await t.test('a query is cancelled when its caller leaves', async () => {
      const leaves = new AbortController();
      const call = client.call('seats.report', { seconds: 3600 }, { signal: leaves.signal });
      const left = assert.rejects(call, { name: 'AbortError' });
      await reports('1');
      leaves.abort();
      await left;
      await reports('0');
    });

    await t.test('a query is cancelled at the deadline', async () => {
      const call = client.call('seats.report', { seconds: 3600 }, { timeoutMs: 500 });
      await assert.rejects(call, { code: -32001 });
      await reports('0');
    });

    await t.test('more calls than connections wait for the pool', async () => {
      const calls = Array.from({ length: 30 }, () => client.call('seats.report', { seconds: 0 }));
      assert.deepEqual(
        await Promise.all(calls),
        Array.from({ length: 30 }, () => 2),
      );
      const open = database.query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres.js'",
      );
      assert.ok(Number(open) > 0 && Number(open) <= 10, `${open} connections`);
    });
  });
});
