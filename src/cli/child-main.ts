/** The program that the supervisor starts: one process of a service. */

import { Guard } from '../server/supervisor/guard-thread.ts';
import { SupervisorChannel } from '../server/supervisor/supervisor-channel.ts';
import { failureOf } from './exit.ts';
import { makeOutputLossy } from './lossy-output.ts';

const channel = new SupervisorChannel();
makeOutputLossy();
const order = await channel.order();
const { shutdownGraceMs: graceMs, watchdogTimeoutMs, logLevel } = order.config;
const base = order.of > 1 ? { process: order.number } : {};
const guard = new Guard({ graceMs, watchdogTimeoutMs, logLevel, base });
try {
  // Loaded on demand, so that the supervisor is told why if the loading fails, for want of file descriptors say.
  const { serveAsOrdered } = await import('./ordered-service.ts');
  await serveAsOrdered(order, channel, guard);
} catch (error) {
  await channel.failed(failureOf(error));
  process.exit(1);
}
