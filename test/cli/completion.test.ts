import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CommandLine } from './command-line.ts';
import { runCli } from './process.ts';

const commands = [
  'serve',
  'gateway',
  'mcp',
  'codegen',
  'diff',
  'schema',
  'call',
  'list',
  'top',
  'stack',
  'profile',
  'log-level',
  'recycle',
  'heap',
  'init',
  'completion',
  'help',
];

describe('tandem completion', () => {
  const commandLine = CommandLine.suite();
  let folder = '';
  let script = '';
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tandem-completion-'));
    ({ stdout: script } = await runCli(['completion', 'bash']));
    // In place of a server: what `tandem list --names` would say of a hostile one.
    const names = [
      'math.add',
      'math.sub',
      'text.count',
      `math.$(touch ${folder}/ran)`,
      'math.`id`',
    ];
    const tandem = join(folder, 'tandem');
    writeFileSync(tandem, `#!/bin/sh\n[ "$6" = http://h:1/rpc ] && cat ${folder}/names\n`);
    writeFileSync(join(folder, 'names'), `${names.join('\n')}\n`);
    chmodSync(tandem, 0o755);
  });
  after(() => rmSync(folder, { recursive: true }));

  /** What bash offers behind `line`. */
  function offered(line: string): string[] {
    const ask = `${script}
COMP_LINE="$1" COMP_POINT=\${#1}
_tandem
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
    const { stdout, stderr } = spawnSync('bash', ['-c', ask, 'bash', line], {
      encoding: 'utf8',
      env,
      cwd: folder,
    });
    assert.equal(stderr, '');
    return stdout.split('\n').filter((word) => word !== '');
  }

  it('offers the commands in bash', () => {
    assert.deepEqual(offered('tandem '), [...commands, '--help', '--version']);
    assert.deepEqual(offered('tandem c'), ['codegen', 'call', 'completion']);
    assert.deepEqual(offered('tandem help s'), ['serve', 'schema', 'stack']);
    assert.deepEqual(offered('tandem completion '), ['bash', 'zsh', 'fish']);
  });

  it('offers the options of a command', () => {
    assert.deepEqual(offered('tandem codegen x.ts --o'), ['--out']);
    assert.ok(offered('tandem serve --').includes('--port'));
    assert.deepEqual(offered('tandem init --'), ['--add', '--module', '--help']);
  });

  it('offers files where a file may stand', () => {
    assert.deepEqual(offered('tandem codegen nam'), ['names']);
  });

  it("offers a server's procedures, and runs nothing of them", () => {
    assert.deepEqual(offered('tandem call http://h:1/rpc ma'), ['math.add', 'math.sub']);
    assert.deepEqual(offered('tandem call http://h:1/rpc text.count x'), []);
    assert.deepEqual(offered('tandem list ra'), []); // the file that a name would have made
  });

  for (const shell of ['zsh', 'fish']) {
    it(`names every command and option in ${shell}`, async () => {
      const { code, stdout } = await commandLine.run(['completion', shell]);
      assert.equal(code, 0);
      for (const command of commands) assert.match(stdout, new RegExp(`\\b${command}\\b`));
      for (const option of ['openrpc', 'notify', 'interval', 'max-body']) {
        assert.match(stdout, new RegExp(`(?:--|-l )${option}\\b`));
      }
      // A quote or a bracket in a description would end it.
      const quotes = stdout.split('\n').filter((line) => (line.match(/'/g) ?? []).length % 2 === 1);
      assert.deepEqual(quotes, []);
    });
  }

  it('has no case twice in zsh: the second would never be reached', async () => {
    const { stdout } = await commandLine.run(['completion', 'zsh']);
    const blocks = [...stdout.matchAll(/^ +case [\s\S]*?^ +esac$/gm)].map(([block]) =>
      [...block.matchAll(/^ +(\w+)\) /gm)].map(([, pattern]) => pattern),
    );
    assert.deepEqual(
      blocks.map((patterns) => patterns.filter((one, index) => patterns.indexOf(one) !== index)),
      [[], []],
    );
    assert.deepEqual(blocks[1], ['completion', 'help']);
  });

  it('offers what follows help and completion in fish', async () => {
    const { stdout } = await commandLine.run(['completion', 'fish']);
    assert.match(stdout, /_from help' -f -a 'serve gateway mcp codegen .*help'$/m);
    assert.match(stdout, /_from completion' -f -a 'bash zsh fish'$/m);
  });
});
