import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { CompiledCli, logged, service } from './cli.ts';
import { where } from './load.ts';
import { pidNow } from './recovery.ts';

const cli = await CompiledCli.suite();

/** How many files a process may have open. */
function limitFiles(pid: number, files: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]);
}

const needs = { skip: process.platform !== 'linux' && 'limits of another process: Linux only' };

test(
  'a process that cannot be forked counts as a death: the supervisor tries again, and later reloads work',
  needs,
  async (t) => {
    const { server, url } = await cli.serveFor(t, [service]);
    const supervisor = server.child.pid ?? 0;
    const first = await where(url);
    const open = readdirSync(`/proc/${supervisor}/fd`).length;
    limitFiles(supervisor, open);
    // A replacement that fails leaves the old process.
    process.kill(supervisor, 'SIGUSR2');
    const [failed] = await logged(server, /could not be replaced yet/);
    assert.match(String(failed?.detail), /EMFILE/);
    assert.equal(await where(url), first);
    process.kill(first, 'SIGKILL');
    const [killed, refused] = await logged(server, /a server process ended/, 2);
    assert.equal(killed?.signal, 'SIGKILL');
    assert.match(String(refused?.detail), /EMFILE/);
    limitFiles(supervisor, 1024);
    assert.notEqual(await pidNow(url), first);
    process.kill(supervisor, 'SIGHUP');
    await logged(server, /nothing has changed/);
  },
);
