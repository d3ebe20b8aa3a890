import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { loadUws } from '../../src/server/http/uws/load.ts';
import { describeWith } from '../describe-with.ts';
import { fixture, nodeFlags } from '../files.ts';
import type { CutReport } from '../fixtures/http/cut-requests-main.ts';
import { findProgram } from '../programs.ts';

/** Two network namespaces that a cable of the usual MTU joins. They end with their processes, and the real network is not touched. */
const setUp = `
set -e
mount -t tmpfs none /run
ip link set lo up
ip netns add client
ip link add server0 type veth peer name client0 netns client
ip addr add 10.77.0.1/24 dev server0
ip link set server0 up
ip -n client addr add 10.77.0.2/24 dev client0
ip -n client link set client0 up
exec "$@"
`;
const apart = ['--net', '--mount', 'sh', '-c', setUp, 'sh'];
const ip = findProgram('ip');
const isAllowed = ip !== undefined && spawnSync('unshare', [...apart, 'true']).status === 0;
const needs = 'needs root, and ip: apt-get install --no-install-recommends iproute2';

describeWith(
  isAllowed ? ip : undefined,
  needs,
  'requests in two pieces at an address of the network',
  () => {
    test('auto and node answer each, cut at each byte, from this machine and from another one', async () => {
      const { uws, fault } = await loadUws();
      const program = [process.execPath, ...nodeFlags, fixture('http/cut-requests-main.ts')];
      const text = execFileSync('unshare', [...apart, ...program, '10.77.0.1'], {
        encoding: 'utf8',
      });
      const reports = JSON.parse(text) as Record<string, CutReport>;
      assert.equal(reports.auto?.serves, uws !== undefined && fault === undefined ? 'uws' : 'node');
      for (const [transport, { statuses }] of Object.entries(reports)) {
        assert.equal(Object.keys(statuses).length, 6);
        for (const [what, all] of Object.entries(statuses)) {
          assert.deepEqual(new Set(all), new Set([200]), `${transport}: ${what}`);
        }
      }
    });
  },
);
