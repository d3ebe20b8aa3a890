/**
 * The strongest server of uWebSockets.js and piscina that an expert would put together by hand: bodies go to the worker as
 * they came and replies come back as text, so that this thread parses and writes no JSON. A worker has up to 64 tasks at a
 * time, without which a tiny task waits for a message to the worker and one back. Nothing is checked, neither the request nor
 * its params, and an answer is never refused or given up.
 * https://github.com/uNetworking/uWebSockets.js/blob/master/examples/JsonPost.js
 * https://piscinajs.dev/api/options (concurrentTasksPerWorker, recordTiming)
 */
import uws from 'uWebSockets.js';
import { expose } from '../../process/expose.ts';
import { createPool } from '../piscina.ts';
import { threads } from './arguments.ts';
import { listenUws, readBody } from './uws-listen.ts';

const pool = createPool(threads, { concurrentTasksPerWorker: 64, recordTiming: false });
const run = { name: 'answer' };

const app = uws.App();
app.post('/rpc', (res) => {
  let aborted = false;
  res.onAborted(() => {
    aborted = true;
  });
  readBody(res, (body) => {
    void pool.run(body.toString(), run).then((reply: string) => {
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
