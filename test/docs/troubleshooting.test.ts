/** docs/troubleshooting.md: each line with which a start may end is brought about by its mistake, and each error code has a row. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TSchema } from '@sinclair/typebox';
import * as v from 'valibot';
import { z } from 'zod';
import { assertMainSide, whileLoading } from '../../src/core/base/thread-role.ts';
import {
  type ConfigOptions,
  optionsFromFlags,
  resolveConfig,
} from '../../src/core/config/config.ts';
import { loadModules } from '../../src/core/modules/modules.ts';
import { ErrorCode } from '../../src/core/protocol/errors.ts';
import { assertRunsInline, usedGroups } from '../../src/core/service/servable.ts';
import { Dispatcher, procedure, Router, RpcApp, Type } from '../../src/index.ts';
import { loadHooks } from '../../src/server/app/hooks.ts';
import { listenError, socketError } from '../../src/server/http/edge/http-server.ts';
import { loadTls } from '../../src/server/http/edge/tls.ts';
import { root } from '../files.ts';
import { recorder } from '../harness.ts';
import { ModuleFolder, routerModule } from '../modules/module-folder.ts';
import { read } from './pages.ts';

const [, starts = '', calls = ''] = read('docs/troubleshooting.md').split(
  /^## (?:It does not start|A call fails)$/m,
);

/** The texts in the first column, in which `…` is any text. */
const lines = [...starts.matchAll(/^\| (`.*?`) \| /gm)].flatMap(([, cell = '']) =>
  Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = '']) => text),
);

function patternOf(line: string): RegExp {
  const text = line.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&').replaceAll('…', '.*');
  return new RegExp(`^${text}$`, 's');
}

/** Lines that other programs or a missing package bring about, and the test that has them do so. */
const elsewhere: Readonly<Record<string, readonly [file: string, part: string]>> = {
  'nats: no server answered at … within … ms …': ['nats/login.long', 'no server answered at'],
  'nats: … does not let this client in …': ['nats/login.long', 'does not let this client in'],
  'jwt: it needs the package jose, which is not installed: …': [
    'packages.long',
    'it needs the package jose',
  ],
  '… does not share a port: …': ['supervisor/processes/start.long', 'does not share a port'],
  'setup() of … failed: …': ['service/startup.long', 'setup()'],
  '… had not ended on the main thread after … ms: …': ['service/startup.long', 'startTimeoutMs'],
  'the modules registered other procedures, …': ['service/startup.long', 'other procedures'],
  'tandem … is gone: …': ['cli/help', 'is gone: '],
};

const config = (options: object) => (): unknown => resolveConfig(options as ConfigOptions);
const params = (schema: TSchema) => (): unknown =>
  procedure({ name: 'p', params: { a: schema } }, () => 1);
const log = recorder().log;
const inGroup = Router.from({ p: procedure({ group: 'reports' }, () => 1) });

/** @returns mistakes, each of which throws or rejects with its line */
function mistakes(folder: ModuleFolder): (() => unknown)[] {
  const load = (name: string, text: string) => (): unknown =>
    loadModules([folder.write(name, text)], { generation: 0 });
  const hooks = (text: string) => (): unknown =>
    loadHooks(folder.write(`hooks-${text.length}.mjs`, text));
  const pem = folder.write('not.pem', 'no PEM');
  const twice = ['a.mjs', 'b.mjs'].map((name) => folder.write(name, routerModule('same', '1')));
  return [
    () => optionsFromFlags({ port: '80000' }),
    config({ prot: 1 }),
    config({ tlsKey: 'key.pem' }),
    config({ corsCredentials: true }),
    config({ fairBy: 'header:x-user' }),
    config({ maxBodyBytes: 2, maxBodyMemory: 1 }),
    config({ accessLog: true, logLevel: 'warn' }),
    config({ path: '/metrics' }),
    config({ httpPath: '/rpc' }),
    config({ processes: 2, supervisor: false }),
    () => new Dispatcher({ router: new Router(), modules: ['a.ts'] }),
    () => new Dispatcher({}),
    hooks('export const other = 1;'),
    hooks('export const authentcate = () => {};'),
    () => loadModules(['nowhere.ts'], { generation: 0 }),
    load('settings.json', '{}'),
    () => loadModules([folder.path], { generation: 0 }),
    load('none.mjs', 'export const x = 1;'),
    load('syntax.mjs', 'const = 1;'),
    load('missing.mjs', "import './nowhere.mjs';"),
    load('package.mjs', "import 'not-there-at-all';"),
    load('alias.mjs', "import '@/users';"),
    load('throws.mjs', "throw new Error('down');"),
    () => loadModules(twice, { generation: 0 }),
    () => whileLoading('service.ts', async () => assertMainSide('listen')),
    () => assertRunsInline(inGroup, log),
    () => usedGroups(inGroup, [], log),
    () => procedure({ name: 'p', timout: 1 } as object, () => 1),
    () => {
      const router = new Router();
      for (const result of [1, 2])
        router.register(
          'a',
          procedure({}, () => result),
        );
    },
    () => new Router().rpc({ name: '1st' }, () => 1),
    () => new Router().rpc({ name: 'a b' }, () => 1),
    () => {
      const router = new Router();
      router.rpc({ name: 'a' }, () => 1);
      router.use((_context, next) => next());
    },
    () => Reflect.apply(new Router().rpc, undefined, [() => 1, 'method', {}]),
    () => procedure({ name: 'p', params: v.object({ a: v.string() }) as never }, () => 1),
    () => procedure({ name: 'p', params: z.object({ a: z.date() }) }, () => 1),
    params(Type.String({ if: {} })),
    params(Type.Unknown({ minLength: 3 })),
    params(Type.String({ format: 'colour' })),
    params(Type.String({ pattern: '^(a+)+$' })),
    params(Type.String({ pattern: 'a\\-b' })),
    () => {
      throw listenError('EADDRINUSE', '127.0.0.1', 8000);
    },
    () => {
      throw listenError('EACCES', '127.0.0.1', 80);
    },
    () => {
      throw listenError('EADDRNOTAVAIL', '192.0.2.1', 8000);
    },
    () => {
      throw listenError('ENOTFOUND', 'nowhere', 8000);
    },
    () => new RpcApp({ router: new Router(), metricsPort: 1, log }).listen({ port: 1 }),
    () => loadTls(pem, pem, () => {}),
    () => loadTls(pem, join(folder.path, 'cert.pem'), () => {}),
    () => {
      throw socketError('/run/x.sock', 'EADDRINUSE');
    },
  ];
}

async function lineOf(mistake: () => unknown): Promise<string> {
  try {
    await mistake();
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
  return assert.fail(`no mistake: ${String(mistake)}`);
}

describe('docs/troubleshooting.md', () => {
  it('has a line for each mistake, and a mistake for each line', async (t) => {
    const messages: string[] = [];
    for (const mistake of mistakes(new ModuleFolder(t))) messages.push(await lineOf(mistake));
    assert.ok(lines.length > 40);
    const unmade = lines.filter(
      (line) => elsewhere[line] === undefined && !messages.some((one) => patternOf(line).test(one)),
    );
    assert.deepEqual(unmade, []);
    // The first line takes any option.
    const told = lines.filter((line) => !line.startsWith('…: expected')).map(patternOf);
    const untold = messages.filter((one) => !told.some((line) => line.test(one)));
    assert.deepEqual(untold, [messages[0]]);
  });

  it('names no line that nothing proves', () => {
    for (const [line, [file, part]] of Object.entries(elsewhere)) {
      assert.ok(lines.includes(line), line);
      const text = readFileSync(join(root, `test/${file}.test.ts`), 'utf8');
      assert.ok(text.includes(part), `${file}: ${part}`);
    }
  });

  it('has a row for each error code', () => {
    const codes = Array.from(calls.matchAll(/^\| (-\d+) \| /gm), ([, code = '']) => code);
    assert.deepEqual(codes.sort(), Object.values(ErrorCode).map(String).sort());
  });
});
