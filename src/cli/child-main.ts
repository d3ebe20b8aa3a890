/** The program that the supervisor starts: one process of a service. */

import { guardAgainstOrphanhood } from '../server/supervisor/orphan-guard.ts';
import { SupervisorChannel } from '../server/supervisor/supervisor-channel.ts';
import { failureOf } from './exit.ts';
import { makeOutputLossy } from './lossy-output.ts';

const channel = new SupervisorChannel();
makeOutputLossy();
const order = await channel.order();
guardAgainstOrphanhood(order.config.shutdownGraceMs);
try {
  // Loaded on demand, so that the supervisor is told why if the loading fails, for want of file descriptors say.
  const { serveAsOrdered } = await import('./ordered-service.ts');
  await serveAsOrdered(order, channel);
} catch (error) {
  await channel.failed(failureOf(error));
  process.exit(1);
}
