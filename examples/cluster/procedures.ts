/** What the members of the demonstration serve: each run is written down, so that a call that ran twice is found. */
import { appendFileSync } from 'node:fs';
import { Router, Type } from 'tandem-rpc';

const journal = process.env.ORDERS_JOURNAL ?? '/dev/null';
const version = process.env.ORDERS_VERSION ?? '1';

const router = new Router();
export default router;

const params = Type.Object({ key: Type.String({ maxLength: 64 }) });

/** Some CPU, in a worker thread. */
router.rpc({ name: 'orders.book', params }, ({ key }) => {
  let checksum = 0;
  for (let i = 0; i < 100_000; i++) checksum = (checksum * 31 + i) % 1_000_003;
  appendFileSync(journal, `${key}\n`);
  return { key, version, checksum };
});
