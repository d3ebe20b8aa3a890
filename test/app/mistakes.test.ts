import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AppOptions,
  type ListenOptions,
  Router,
  RpcApp,
  StartupError,
} from '../../src/index.ts';
import { makeApp } from '../harness.ts';

test('what listen does not know is one line, and nobody listens elsewhere', async (t) => {
  const { app } = makeApp(t, { router: new Router() });
  for (const [at, message] of [
    [3000, 'listen: the options must be an object, such as { port: 8000 }, got 3000'],
    [null, 'listen: the options must be an object, such as { port: 8000 }, got null'],
    [
      { prot: 0 },
      'listen: unknown option "prot"; did you mean port? Known: host, port, socket, sharedPort',
    ],
    [{ workers: 2 }, 'listen: unknown option "workers". Known: host, port, socket, sharedPort'],
    [{ port: '0' }, 'option port: expected a whole number, 0 to 65535, got "0"'],
    [{ host: 'a b', port: 0 }, 'option host: expected a host name or an IP address, got "a b"'],
  ] as const) {
    await assert.rejects(app.listen(at as ListenOptions), new StartupError(message));
  }
  const { port } = await app.listen({ port: 0 });
  assert.ok(port > 0);
});

test('one port for the calls and for the metrics by their own option is one line', async (t) => {
  // Nothing listens there: the refusal comes before.
  const { app } = makeApp(t, { router: new Router(), metricsPort: 1 });
  const message =
    'option metricsPort: 1 is the port of the calls; choose another one, or leave it out to have both on one port';
  await assert.rejects(app.listen({ port: 1 }), new StartupError(message));
});

test('a log that can not be written to is one line', () => {
  const message =
    'option log: expected an object with the functions debug, info, warn and error, such as pino()';
  for (const log of ['info', {}, { info: console.info }, null, true]) {
    const options = { router: new Router(), log } as unknown as AppOptions;
    assert.throws(() => new RpcApp(options), new StartupError(message));
  }
  new RpcApp({ router: new Router(), log: console as unknown as AppOptions['log'] });
});
