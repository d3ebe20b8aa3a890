import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expose } from '../process/expose.ts';

/** Runs the command `tandem serve --processes N`, and reports its port when all processes serve. */
const [processes = '1'] = process.argv.slice(2);
const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js';
const pathOf = (name: string): string =>
  fileURLToPath(new URL(`${name}${extension}`, import.meta.url));
const server = spawn(
  process.execPath,
  [
    ...process.execArgv,
    pathOf('../../src/cli/main'),
    'serve',
    pathOf('./procedures-inline'),
    '--port=0',
    `--processes=${processes}`,
    '--workers=1',
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
);
process.on('exit', () => server.kill());

/** @throws Error where the command ends before it serves */
async function portOf(): Promise<number> {
  const said: string[] = [];
  for await (const line of createInterface(server.stderr)) {
    said.push(line);
    const { event, url } = JSON.parse(line) as { event?: string; url?: string };
    if (event !== 'serving' || url === undefined) continue;
    // Read on, so that its further output does not fill the pipe.
    server.stderr.resume();
    return Number(new URL(url).port);
  }
  throw new Error(`the server ended: ${said.join('\n')}`);
}

const port = await portOf();
void once(server, 'exit').then(() => process.exit(1));
expose(port);
