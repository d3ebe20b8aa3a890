import { describe, test } from 'node:test';
import { procedure, Router } from '../../src/index.ts';
import { isRefused } from './run.ts';

const proc = procedure({ name: 'a' }, () => null);

function register(name: unknown): void {
  new Router().register(name as string, proc);
}

const refuses = (name: unknown, message: RegExp) => isRefused(() => register(name), message);

describe('the name of a procedure', () => {
  test('takes letters, digits and _ - . / : after a letter or _', () => {
    for (const name of [
      'a',
      '_',
      'math.add',
      'v1/users:list',
      'A-b_c.9',
      'x'.repeat(256),
      'rpc',
      'rpcx.a',
    ]) {
      register(name);
    }
  });

  test('takes the names that objects inherit', () => {
    for (const name of ['constructor', 'toString', 'a.hasOwnProperty']) register(name);
  });

  test('says what is wrong, and where', () => {
    refuses(undefined, /^register: .*must be a string, got undefined/);
    refuses(null, /got null/);
    refuses('', /needs a name/);
    refuses('x'.repeat(257), /at most 256 characters, this one 257/);
    refuses('9a', /must begin with a letter or _/);
    refuses('.a', /must begin with a letter or _/);
    refuses('a b', /" " at position 1/);
    refuses('a\n', /"\\n" at position 1/);
    refuses('añb', /"ñ" at position 1/);
    refuses('a😀', /"😀" at position 1/);
    refuses('rpc.discover', /reserved/);
  });

  test('refuses a segment __proto__ behind every separator', () => {
    for (const name of [
      '__proto__',
      'a.__proto__',
      '__proto__.a',
      'a/__proto__',
      'a:__proto__:b',
    ]) {
      refuses(name, /__proto__/);
    }
    register('a__proto__');
  });
});
