#!/usr/bin/env node
import { keepCompiledCode } from '../core/base/compile-cache.ts';
import { nodeFault } from '../core/base/node-version.ts';
import { forkAhead } from '../server/process/fork-server.ts';

const fault = nodeFault();
if (fault !== undefined) {
  console.error(fault);
  process.exit(1);
}
const [, , command = '', ...others] = process.argv;

/** Whether this command is likely to have a server process: a mistake in it costs a process that ends at once. */
function startsServer(): boolean {
  const isServer = command === 'serve' || command === 'gateway';
  const isAlone = others.includes('--no-supervisor') || 'TANDEM_SUPERVISOR' in process.env;
  return isServer && !isAlone && others.every((one) => one !== '-h' && one !== '--help');
}

if (startsServer()) forkAhead();
keepCompiledCode();
const { runCli } = await import('./program.ts');
// Not awaited: Node would end with a warning of its own if a module waits for ever.
void runCli(process.argv);
