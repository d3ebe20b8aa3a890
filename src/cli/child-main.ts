/** The program that the supervisor starts: one process of a service. */

import { keepCompiledCode } from '../core/base/compile-cache.ts';
import { SupervisorLink } from '../server/process/child.ts';
import { failureOf } from './exit.ts';
import { makeOutputLossy } from './lossy-output.ts';

const link = new SupervisorLink();
makeOutputLossy();
keepCompiledCode();
// On demand, so that the supervisor is told why if the loading fails, for want of file descriptors say.
const loading = import('./server.ts');
loading.catch(() => {});
const order = await link.order;
if (order === undefined) process.exit();
try {
  const { serveAsOrdered } = await loading;
  await serveAsOrdered(order, link);
} catch (error) {
  await link.failed(failureOf(error));
  process.exit(1);
}
