/** What an operator reads in a trace is there to be opened: in the package as it is installed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { userEnvironment } from '../compiled.ts';
import { temporaryFolder } from '../files.ts';
import { patienceVariables } from '../patience.ts';
import { callAt } from '../post-json.ts';
import { installPacked } from './packed.ts';
import { Running } from './process.ts';

const procedures = `
import { Router } from 'tandem-rpc';
const router = new Router();
router.rpc({ name: 'fails', placement: 'worker' }, () => { throw new Error('in a worker'); });
router.rpc({ name: 'failsHere', placement: 'inline' }, () => { throw new Error('inline'); });
export default router;`;

/** The files that lines of stacks name: \`at run (file:///a/b.js:1:2)\`, escaped as JSON or not. */
function filesNamed(text: string): string[] {
  const places = text.matchAll(/(?:\(|at (?:async )?)((?:file:\/\/)?\/[^()\s"]+?):\d+(?::\d+)?\b/g);
  const files = Array.from(places, ([, place = '']) =>
    place.startsWith('file:') ? fileURLToPath(place) : place,
  );
  return [...new Set(files)];
}

for (const flags of [[], ['--enable-source-maps']]) {
  describe(`stack traces, node ${flags.join(' ')}`, () => {
    const folder = temporaryFolder({ after });
    let main: string;
    before(async () => {
      main = await installPacked(folder);
      writeFileSync(join(folder, 'procedures.mjs'), procedures);
    });

    const start = (...args: string[]): Running =>
      new Running(
        spawn(process.execPath, [...flags, main, ...args], {
          cwd: folder,
          env: { ...userEnvironment(), ...patienceVariables, TANDEM_DEBUG: '1' },
        }),
      );

    /** @returns those of this package */
    function assertAllThere(text: string): string[] {
      const files = filesNamed(text);
      assert.deepEqual(
        files.filter((file) => !existsSync(file)),
        [],
        text,
      );
      const own = files.filter((file) => file.includes('/node_modules/tandem-rpc/'));
      const isMapped = (file: string) => /tandem-rpc\/(?:src|workers|bundled)\/.*\.ts$/.test(file);
      assert.ok(own.length > 0, text);
      assert.ok(
        own.every((file) => isMapped(file) === flags.length > 0),
        own.join('\n'),
      );
      return own;
    }

    it('of a mistake at the start', async () => {
      const { stderr } = await start('serve', './missing.mjs', '--port', '0').exit;
      assertAllThere(stderr);
    });

    it('of errors in the main thread and in a worker', async () => {
      const running = start('serve', './procedures.mjs', '--port', '0');
      const [, url = ''] = await running.seen('stderr', /listens on (http\S+)/);
      for (const method of ['fails', 'failsHere']) {
        await callAt(url, method);
      }
      await running.seen('stderr', /Error: in a worker/);
      await running.seen('stderr', /Error: inline/);
      running.child.kill('SIGTERM');
      const { stderr } = await running.exit;
      for (const error of ['in a worker', 'inline']) {
        const line = stderr.split('\n').find((text) => text.includes(`Error: ${error}`)) ?? '';
        assertAllThere(line.replaceAll('\\n', '\n'));
      }
    });
  });
}
