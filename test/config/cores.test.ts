import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  coresHere,
  coresText,
  oneCoreNote,
  readCpuQuota,
  toCores,
} from '../../src/core/config/machine.ts';
import { Dispatcher, Router } from '../../src/index.ts';

/** The files of a machine that is made up. */
type Files = Readonly<Record<string, string>>;

const quotaOf = (files: Files) => readCpuQuota((path) => files[path]);

const self = '/proc/self/cgroup';
const mounts = '/proc/self/mountinfo';

const v2Mount = (root = '/', point = '/sys/fs/cgroup') =>
  `31 23 0:28 ${root} ${point} rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n`;
const v1Mount = (root = '/', point = '/sys/fs/cgroup/cpu,cpuacct', controllers = 'cpu,cpuacct') =>
  `32 31 0:29 ${root} ${point} rw,nosuid - cgroup cgroup rw,${controllers}\n`;
/** What a mountinfo has beside them. */
const others =
  '23 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw\n24 23 0:5 / /proc rw - proc proc rw\n';

describe('the CPU quota of control groups', () => {
  it('of version 2 is quota and period of cpu.max', () => {
    const files = {
      [mounts]: others + v2Mount(),
      [self]: '0::/\n',
      '/sys/fs/cgroup/cpu.max': '150000 100000\n',
    };
    assert.deepEqual(quotaOf(files), { cores: 1.5, file: '/sys/fs/cgroup/cpu.max' });
  });

  it('of version 1 stands in two files, by whatever name the controller is mounted', () => {
    for (const [point, controllers] of [
      ['/sys/fs/cgroup/cpu,cpuacct', 'cpu,cpuacct'],
      ['/sys/fs/cgroup/cpu', 'cpu'],
      ['/sys/fs/cgroup/cpuacct,cpu', 'cpuacct,cpu'],
    ] as const) {
      const files = {
        [mounts]: others + v1Mount('/', point, controllers),
        [self]: `9:name=systemd:/a\n4:memory:/b\n3:cpuset:/c\n2:${controllers}:/pod\n`,
        [`${point}/pod/cpu.cfs_quota_us`]: '400000\n',
        [`${point}/pod/cpu.cfs_period_us`]: '200000\n',
      };
      assert.deepEqual(quotaOf(files), { cores: 2, file: `${point}/pod/cpu.cfs_quota_us` });
    }
  });

  it('of a hybrid system is that of the hierarchy that has the controller', () => {
    const files = {
      [mounts]: v1Mount() + v2Mount('/', '/sys/fs/cgroup/unified'),
      [self]: '2:cpu,cpuacct:/pod\n0::/pod\n',
      '/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us': '300000',
      '/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us': '100000',
    };
    assert.equal(quotaOf(files)?.cores, 3);
    const both = { ...files, '/sys/fs/cgroup/unified/pod/cpu.max': '200000 100000' };
    assert.equal(quotaOf(both)?.cores, 2);
  });

  it('is the least of a group and of all above it', () => {
    const files = {
      [mounts]: v2Mount(),
      [self]: '0::/kube/pod/container\n',
      '/sys/fs/cgroup/kube/pod/container/cpu.max': '400000 100000',
      '/sys/fs/cgroup/kube/pod/cpu.max': '50000 100000',
      '/sys/fs/cgroup/kube/cpu.max': 'max 100000',
      '/sys/fs/cgroup/other/cpu.max': '1000 100000',
    };
    assert.deepEqual(quotaOf(files), { cores: 0.5, file: '/sys/fs/cgroup/kube/pod/cpu.max' });
  });

  it('is found where a container sees its own group as the root of the mount', () => {
    const files = {
      [mounts]: v1Mount('/docker/abc', '/sys/fs/cgroup/cpu', 'cpu'),
      [self]: '2:cpu:/docker/abc/inner\n',
      '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '250000',
      '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000',
    };
    assert.equal(quotaOf(files)?.cores, 2.5);
    const deeper = {
      ...files,
      '/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us': '100000',
      '/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us': '100000',
    };
    assert.equal(quotaOf(deeper)?.cores, 1);
  });

  it('is that of the mount where the group lies outside of it', () => {
    for (const group of ['/../../elsewhere', '/elsewhere', '/docker/abcdef']) {
      const files = {
        [mounts]: v2Mount('/docker/abc'),
        [self]: `0::${group}\n`,
        '/sys/fs/cgroup/cpu.max': '200000 100000',
        '/etc/cpu.max': '100 100000',
      };
      assert.equal(quotaOf(files)?.cores, 2, group);
    }
  });

  it('is none where it is unlimited, or where nothing says so', () => {
    const base = { [mounts]: v2Mount() + v1Mount(), [self]: '2:cpu,cpuacct:/\n0::/\n' };
    assert.equal(quotaOf({}), undefined);
    assert.equal(quotaOf({ [mounts]: v2Mount() }), undefined);
    assert.equal(quotaOf(base), undefined);
    assert.equal(quotaOf({ ...base, '/sys/fs/cgroup/cpu.max': 'max 100000' }), undefined);
    const v1 = '/sys/fs/cgroup/cpu,cpuacct';
    const unlimited = {
      [`${v1}/cpu.cfs_quota_us`]: '-1\n',
      [`${v1}/cpu.cfs_period_us`]: '100000\n',
    };
    assert.equal(quotaOf({ ...base, ...unlimited }), undefined);
  });

  it('is none where a file is broken', () => {
    for (const text of [
      '',
      '\n',
      '100000',
      '0 100000',
      '100000 0',
      '-5 10',
      'x y',
      '1e5 1e5',
      ' ',
    ]) {
      const files = { [mounts]: v2Mount(), [self]: '0::/\n', '/sys/fs/cgroup/cpu.max': text };
      assert.equal(quotaOf(files), undefined, JSON.stringify(text));
    }
    for (const text of [
      '',
      '\0\0\0',
      '31 23 - cgroup2',
      'a b c d e f',
      ' - cgroup2 x y\n',
      '- -',
    ]) {
      assert.equal(quotaOf({ [mounts]: text, [self]: '0::/\n' }), undefined, text);
      assert.equal(quotaOf({ [mounts]: v2Mount(), [self]: text }), undefined, text);
    }
  });
});

describe('the cores that a process can keep busy', () => {
  const quota = (cores: number) => ({ cores, file: '/sys/fs/cgroup/cpu.max' });

  it('are those of the machine, or fewer by a quota, rounded down to no less than one', () => {
    const table: readonly (readonly [available: number, quota: number, count: number])[] = [
      [64, 1, 1],
      [64, 2.5, 2],
      [64, 0.25, 1],
      [64, 1.99, 1],
      [1, 0.5, 1],
      [4, 100, 4],
      // Bound to two cores (cpuset, taskset), with time for three.
      [2, 3, 2],
    ];
    for (const [available, cores, count] of table) {
      assert.equal(toCores(available, quota(cores)).count, count, `${cores} of ${available}`);
    }
    assert.equal(toCores(8, undefined).count, 8);
  });

  it('are shared out as workers among the processes, one left to each main thread', () => {
    const cores = coresHere().count;
    for (const processes of [1, 2, cores, 4 * cores]) {
      const { workers } = new Dispatcher({ router: new Router(), processes }).config;
      assert.equal(workers, Math.max(1, Math.floor(cores / processes) - 1));
    }
  });

  it('are told with what decides them', () => {
    assert.equal(coresText(toCores(1, undefined)), '1 core');
    assert.equal(coresText(toCores(2, quota(8))), '2 cores');
    assert.equal(coresText(toCores(64, quota(2.5))), '2 cores: /sys/fs/cgroup/cpu.max allows 2.5');
    assert.equal(
      coresText(toCores(64, quota(1 / 3))),
      '1 core: /sys/fs/cgroup/cpu.max allows 0.33',
    );
  });

  it('are told of once more where there is one, which main thread and workers share', () => {
    assert.equal(oneCoreNote(toCores(2, undefined)), undefined);
    assert.match(oneCoreNote(toCores(1, undefined)) ?? '', /^one core: .* heavy one$/);
    assert.match(
      oneCoreNote(toCores(8, quota(0.5))) ?? '',
      /^one core: .*cgroup\/cpu\.max allows$/,
    );
  });
});
