import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Router, Type } from '../../src/index.ts';
import { startApp } from '../harness.ts';

/** Documents of many procedures are made in slices: src/core/base/timer.ts. */

function largeRouter(): Router {
  const router = new Router();
  for (let n = 0; n < 300; n++) {
    const members = Array.from({ length: 12 }, (_, i) => {
      const kind = Type.Union([Type.Literal(`a${n}`), Type.Literal('b'), Type.Literal('c')]);
      return [`m${i}_${n}`, Type.Object({ x: Type.Number(), kind })] as const;
    });
    const params = Type.Object(Object.fromEntries(members));
    router.rpc({ name: `p${n}`, params, placement: 'inline' }, () => null);
  }
  router.rpc({ name: 'light', placement: 'inline' }, () => null);
  return router;
}

for (const [what, path, body] of [
  ['/openapi.json', '/openapi.json', undefined],
  ['GET /rpc', '/rpc', undefined],
  ['the OpenRPC document', '/rpc?format=openrpc', undefined],
  ['rpc.discover', '/rpc', '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}'],
] as const) {
  test(`light calls are answered while ${what} of many procedures is made`, async (t) => {
    const { port } = await startApp(t, { router: largeRouter(), httpPath: '/api' });
    const address = `http://127.0.0.1:${port}`;
    const post = (text: string) =>
      ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: text }) as const;
    let isMade = false;
    const ask = () => fetch(`${address}${path}`, body === undefined ? {} : post(body));
    const made = ask().then(async (response) => {
      isMade = true;
      return { status: response.status, text: await response.text() };
    });
    let light = 0;
    while (!isMade) {
      await (
        await fetch(`${address}/rpc`, post('{"jsonrpc":"2.0","id":1,"method":"light"}'))
      ).text();
      light++;
    }
    assert.ok(light >= 4, `${light} light calls`);
    const { status, text } = await made;
    assert.equal(status, 200);
    assert.match(text, /"m11_299"/);
    assert.equal(await (await ask()).text(), text);
  });
}
