import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readMemoryKills, readMemoryLimit } from '../../src/core/base/control-groups.ts';
import { workerMemoryWithin } from '../../src/core/config/machine.ts';

const mb = 1024 ** 2;
const machine = 16_384 * mb;

/** The files of a machine that is made up. */
const v2 = {
  '/proc/self/cgroup': '0::/pod/a\n',
  '/proc/self/mountinfo': '31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n',
  '/sys/fs/cgroup/pod/memory.max': `${256 * mb}\n`,
  '/sys/fs/cgroup/pod/a/memory.max': 'max\n',
  '/sys/fs/cgroup/pod/a/memory.events': 'low 0\noom 3\noom_kill 2\n',
};
const v1 = {
  '/proc/self/cgroup': '4:memory:/pod\n1:cpu:/\n',
  '/proc/self/mountinfo': '35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n',
  '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
  '/sys/fs/cgroup/memory/pod/memory.limit_in_bytes': `${512 * mb}\n`,
  '/sys/fs/cgroup/memory/pod/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
};

function reader(files: Readonly<Record<string, string>>): (path: string) => string | undefined {
  return (path) => files[path];
}

describe('the memory limit of control groups', () => {
  it('is the least of memory.max (version 2) or memory.limit_in_bytes (version 1) from the group upwards', () => {
    const file = '/sys/fs/cgroup/pod/memory.max';
    assert.deepEqual(readMemoryLimit(reader(v2), machine), { bytes: 256 * mb, file });
    assert.equal(readMemoryLimit(reader(v1), machine)?.bytes, 512 * mb);
  });

  it('is none without files, and if the machine has no more', () => {
    assert.equal(readMemoryLimit(reader({}), machine), undefined);
    assert.equal(readMemoryLimit(reader(v2), 256 * mb), undefined);
  });

  it('has a count of the processes that the system has ended', () => {
    assert.deepEqual(
      [v2, v1, {}].map((files) => readMemoryKills(reader(files))),
      [2, 1, undefined],
    );
  });
});

describe('the default of workerMemoryMb', () => {
  const within = (limitMb: number, processes: number, threads: number): number =>
    workerMemoryWithin({ bytes: limitMb * mb, file: '' }, processes, threads);

  it('is an equal share of what the process leaves of the limit, at least 64 MB', () => {
    const shares = [within(1024, 1, 2), within(1024, 2, 2), within(512, 1, 4), within(256, 1, 2)];
    assert.deepEqual(shares, [432, 176, 88, 64]);
  });

  it("is V8's own without a limit", () => assert.equal(workerMemoryWithin(undefined, 1, 2), 0));
});
