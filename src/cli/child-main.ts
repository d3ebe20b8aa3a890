/** The program that the supervisor starts: one process of a service. */

import { keepCompiledCode } from '../core/base/compile-cache.ts';
import { Guard } from '../server/supervisor/guard-thread.ts';
import { SupervisorChannel } from '../server/supervisor/supervisor-channel.ts';
import { failureOf } from './exit.ts';
import { makeOutputLossy } from './lossy-output.ts';

const channel = new SupervisorChannel();
makeOutputLossy();
keepCompiledCode();
// On demand, so that the supervisor is told why if the loading fails, for want of file descriptors say.
const loading = import('./ordered-service.ts');
loading.catch(() => {});
const order = await channel.order();
if (order === undefined) process.exit();
const { shutdownGraceMs: graceMs, watchdogTimeoutMs, logLevel } = order.config;
const base = order.of > 1 ? { process: order.number } : {};
const guard = new Guard({ graceMs, watchdogTimeoutMs, logLevel, base });
try {
  const { serveAsOrdered } = await loading;
  await serveAsOrdered(order, channel, guard);
} catch (error) {
  await channel.failed(failureOf(error));
  process.exit(1);
}
