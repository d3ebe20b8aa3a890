/**
 * uWebSockets.js and piscina put together by hand: the least code that gives the same answers. `add` runs on this thread,
 * `pooledAdd` and `burn` in a worker thread, with one `run` for each call.
 * https://github.com/uNetworking/uWebSockets.js/blob/master/examples/JsonPost.js
 * https://piscinajs.dev/getting-started/Basic%20Usage
 */
import uws from 'uWebSockets.js';
import { expose } from '../../process/expose.ts';
import { createPool } from '../piscina.ts';
import { add, checkedAdd, checkedBurn } from '../work.ts';
import { threads } from './arguments.ts';
import { listenUws, readBody } from './uws-listen.ts';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

const pool = createPool(threads);

function run({ method, params }: Call): unknown {
  if (method === 'add') return add(checkedAdd(params));
  if (method === 'pooledAdd') return pool.run(checkedAdd(params));
  return pool.run(checkedBurn(params), { name: 'pooledBurn' });
}

async function answer(call: Call): Promise<string> {
  return JSON.stringify({ jsonrpc: '2.0', id: call.id, result: await run(call) });
}

async function handle(body: unknown): Promise<string> {
  if (!Array.isArray(body)) return answer(body as Call);
  return `[${(await Promise.all(body.map(answer))).join(',')}]`;
}

const app = uws.App();
app.post('/rpc', (res) => {
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  readBody(res, (body) => {
    void handle(JSON.parse(body.toString())).then((reply) => {
      if (aborted) return;
      res.cork(() => {
        res.writeHeader('access-control-allow-origin', '*');
        res.writeHeader('content-type', 'application/json');
        res.end(reply);
      });
    });
  });
});

expose(await listenUws(app));
