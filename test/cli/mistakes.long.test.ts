import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CommandLine } from './command-line.ts';
import { type Exit, fixture, runCli } from './process.ts';

/** Exit code 1, nothing on stdout, one line on stderr that is no stack. Returns that line. */
function assertOneLine({ code, stdout, stderr }: Exit): string {
  assert.equal(stdout, '');
  assert.match(stderr, /^tandem: [^\n]+\n$/);
  assert.doesNotMatch(stderr, / {4}at |TANDEM_DEBUG/);
  assert.equal(code, 1);
  return stderr;
}

const good = fixture('cli/procedures.ts');

interface Mistake {
  readonly what: string;
  readonly args: string[];
  readonly env?: NodeJS.ProcessEnv;
  /** It shows when the service starts: in the process of the command itself, or in one that the supervisor starts. */
  readonly atStart?: 'here' | 'supervised';
  readonly says: readonly RegExp[];
}

const mistakes: Mistake[] = [
  {
    what: 'an unknown option',
    args: ['serve', good, '--prot', '1'],
    says: [/unknown option '--prot'/, /--port\?/],
  },
  {
    what: 'an unknown command',
    args: ['sevre', good],
    says: [/unknown command 'sevre'/, /serve\?/],
  },
  {
    what: 'help of an unknown command',
    args: ['help', 'sevre'],
    says: [/unknown command 'sevre'/, /serve\?/],
  },
  {
    what: 'no module',
    args: ['serve'],
    says: [/missing required argument 'module': see tandem serve --help$/m],
  },
  {
    what: 'an option without its value',
    args: ['serve', good, '--port'],
    says: [/--port <number>.*missing/],
  },
  {
    what: 'a bad value with a line break and terminal controls',
    args: ['serve', good, '--host', 'a\nb\u001b[2J'],
    says: [/--host: expected/],
  },
  {
    what: 'a flag whose variable is empty',
    args: ['serve', good, '--hooks', ''],
    says: [/^tandem: --hooks: expected the path of a file, or none, got ""$/m],
  },
  {
    what: 'a group of workers that is not configured',
    atStart: 'here',
    args: ['serve', fixture('service/groups.ts'), '--port', '0'],
    says: [/group: 'heavy', which is not configured: .*--group heavy:workers=1$/m],
  },
  {
    what: 'a module that throws at its top level',
    atStart: 'supervised',
    args: ['serve', fixture('cli/throws.mjs'), '--port', '0'],
    says: [/throws\.mjs/, /the database is not reachable/],
  },
  {
    what: 'a module that fails to load in the replicas only',
    atStart: 'supervised',
    args: ['serve', fixture('cli/throws-in-replica.mjs'), '--port', '0'],
    says: [/throws-in-replica\.mjs|replica|worker/, /only the main thread may load me/],
  },
];

describe('a mistake is one line that says what to do', () => {
  const commands = CommandLine.suite();
  for (const { what, args, env, atStart, says } of mistakes) {
    it(what, async () => {
      const all = atStart === 'here' ? [...args, '--no-supervisor'] : args;
      const exit = atStart === 'supervised' ? runCli(all, env) : commands.run(all, env);
      const line = assertOneLine(await exit);
      for (const pattern of says) assert.match(line, pattern);
    });
  }

  it('shows the stack with TANDEM_DEBUG=1', async () => {
    const args = ['serve', fixture('cli/throws.mjs'), '--port', '0', '--no-supervisor'];
    const { code, stderr } = await commands.run(args, { TANDEM_DEBUG: '1' });
    assert.equal(code, 1);
    assert.match(stderr, /\n {4}at /);
  });
});
