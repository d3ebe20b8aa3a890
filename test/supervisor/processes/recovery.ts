import type { CompiledCli } from './cli.ts';
import { ask } from './load.ts';

/** As many in a row are not delayed by the supervisor. */
const killsPerServer = 3;

/** The process that answers, as soon as one does. */
export async function pidNow(url: string): Promise<number> {
  for (;;) {
    const answer = await ask(url, { id: 1, method: 'where' });
    if ('body' in answer) return (answer.body as { result: number }).result;
    // At once again: it is the time to the next answer that is measured.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Kills the only process of a service, and measures how long it is until another answers, in ms. */
export async function recoveryTimes(cli: CompiledCli, kills: number): Promise<number[]> {
  const times: number[] = [];
  while (times.length < kills) {
    const { server, url } = await cli.serve(['--port', '0']);
    for (let kill = 0; kill < killsPerServer && times.length < kills; kill++) {
      const pid = await pidNow(url);
      const began = performance.now();
      process.kill(pid, 'SIGKILL');
      while ((await pidNow(url)) === pid);
      times.push(performance.now() - began);
    }
    server.child.kill('SIGTERM');
    await server.exit;
  }
  return times.sort((a, b) => a - b);
}
