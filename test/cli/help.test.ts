import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { optionNames } from '../../src/core/config/config.ts';
import { flagOf, type Option, variableOf } from '../../src/core/config/option.ts';
import { table } from '../../src/core/config/table.ts';
import { CommandLine } from './command-line.ts';
import { runCli } from './process.ts';

const commands = CommandLine.suite();

describe('tandem', () => {
  it('without a command prints the help, as --help does', async () => {
    const [bare, asked] = await Promise.all([runCli([]), commands.run(['--help'])]);
    assert.match(bare.stdout, /^Usage: tandem /);
    assert.match(bare.stdout, /serve/);
    assert.match(bare.stdout, /Exit codes:/);
    assert.deepEqual(bare, asked);
    assert.equal(bare.code, 0);
    assert.equal(bare.stderr, '');
  });

  it('--version prints the version of package.json', async () => {
    const { code, stdout } = await commands.run(['--version']);
    const file = new URL('../../package.json', import.meta.url);
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
    assert.equal(stdout, `${version}\n`);
    assert.equal(code, 0);
  });

  it('a command that is gone says what to use instead', async () => {
    const gone = [['top'], ['completion', 'bash'], ['init', '--add']];
    for (const args of gone) {
      const { code, stdout, stderr } = await commands.run(args);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^tandem: tandem \S+(?: --add)? is gone: [^\n]+\n$/);
    }
  });

  it('the texts of short options stand in one column', async () => {
    for (const command of ['list', 'call', 'serve']) {
      const { stdout } = await commands.run([command, '--help']);
      const options = stdout.split('\nOptions:\n')[1]?.split('\n\n')[0] ?? '';
      const columns = options.split('\n').flatMap((line) => {
        const term = /^ {2}-\S.*? {2,}/.exec(line);
        return term === null ? [] : [term[0].length];
      });
      assert.equal(new Set(columns).size, 1, options);
    }
  });

  it('serve --help shows flag, variable and default of every option', async () => {
    const { code, stdout } = await commands.run(['serve', '--help']);
    assert.equal(code, 0);
    // Words, since the help is wrapped to the width of the terminal.
    const words = new Set(stdout.split(/[\s,;[\]]+/));
    for (const name of optionNames) {
      const option: Option<unknown> = table[name];
      const flag = flagOf(name, option);
      assert.ok(words.has(`--${flag}`) || words.has(`--no-${flag}`), name);
      const variable = variableOf(name, option);
      assert.ok(words.has(variable), variable);
    }
    // Each is the negation of what the option does when it is on.
    const negated = [...stdout.matchAll(/^ {6}Do not (\w+)/gm)].map(([, verb]) => verb);
    assert.deepEqual(new Set(negated), new Set(['answer', 'count', 'restart']));
    for (const heading of ['Network:', 'Workers:', 'Time:', 'Limits:', 'Protocol:', 'Log:']) {
      assert.ok(stdout.includes(`\n${heading}\n`), heading);
    }
  });
});
