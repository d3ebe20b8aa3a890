/** What the image of examples/deployment runs, as it stands there, where no container can be built. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { installPacked } from '../cli/packed.ts';
import { Running } from '../cli/process.ts';
import { root } from '../files.ts';
import { patienceVariables } from '../patience.ts';
import { readDockerfile } from './dockerfile.ts';

const run = promisify(execFile);
const files = join(root, 'examples/deployment');
const { env, health, command } = readDockerfile(readFileSync(join(files, 'Dockerfile'), 'utf8'));

/** Whether every user may enter a folder. */
function isOpen(folder: string): boolean {
  const isHere = (statSync(folder).mode & 0o005) === 0o005;
  return isHere && (folder === dirname(folder) || isOpen(dirname(folder)));
}

/** `nobody`, where this test may become that user, and that user may read the packages of this repository. */
const isRoot = process.getuid?.() === 0;
const user = isRoot && isOpen(root) ? { uid: 65_534, gid: 65_534 } : {};

describe('the image, without a container', () => {
  let app: string;
  before(async () => {
    app = mkdtempSync(join(tmpdir(), 'tandem-image-'));
    await installPacked(app);
    for (const name of ['staging', 'staging-client'])
      rmSync(join(app, name), { recursive: true, force: true });
    for (const name of ['package.json', 'procedures.js']) {
      copyFileSync(join(files, name), join(app, name));
    }
    await run('chmod', ['-R', 'a+rX,a-w', app]);
  });
  after(async () => {
    await run('chmod', ['-R', 'u+w', app]);
    rmSync(app, { recursive: true, force: true });
  });

  test('its command serves, its health check passes, and SIGTERM ends it with 0', async (t) => {
    const [file = '', ...args] = command;
    const child = spawn(file, args, {
      cwd: app,
      // Nothing else: no HOME, and no PATH beyond that of the image.
      env: {
        ...env,
        ...patienceVariables,
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        TANDEM_PORT: '0',
        TANDEM_METRICS_PORT: '0',
      },
      ...user,
    });
    const server = new Running(child);
    t.after(() => child.kill('SIGKILL'));
    const [, url = ''] = await server.seen('stdout', /listens on (http:\S+) \(uWebSockets\.js/);
    const [, metrics = ''] = await server.seen('stderr', /"metricsUrl":"(http:[^"]+)"/);

    const here = url.replace('0.0.0.0', '127.0.0.1');
    const body = JSON.stringify({ id: 1, method: 'math.add', params: { a: 1, b: 2 } });
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(here, { method: 'POST', headers, body });
    assert.equal(await reply.text(), '{"jsonrpc":"2.0","id":1,"result":3}');

    const [node = '', ...check] = JSON.parse(/CMD (\[.*\])/.exec(health)?.[1] ?? '[]') as string[];
    const { port } = new URL(metrics.replace('0.0.0.0', '127.0.0.1'));
    assert.equal(node, 'node');
    const asked = check.map((word) => word.replace(`:${env.TANDEM_METRICS_PORT}/`, `:${port}/`));
    await run(process.execPath, asked, { env: {} });

    child.kill('SIGTERM');
    const { code, stderr } = await server.exit;
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /EACCES|EROFS|EPERM/);
  });
});
