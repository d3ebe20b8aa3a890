/**
 * The same service as a request handler of an http server that you have already:
 *
 *   node --import tsx examples/mounted.ts 8080
 *   curl http://127.0.0.1:8080/rpc -H 'content-type: application/json' -d '{"id":1,"method":"time.now"}'
 *
 * Express and Fastify take the handler too: `server.all('/rpc', app.nodeHandler())`.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { RpcApp } from 'tandem-rpc';

const app = new RpcApp({
  modules: [fileURLToPath(new URL('./procedures.ts', import.meta.url))],
  workers: 2,
});
const rpc = app.nodeHandler();

const server = createServer((request, response) => {
  if (request.url === '/') response.end('A page of your own.\n');
  else rpc(request, response);
});
server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1');
await once(server, 'listening');
console.log('listening on', server.address());

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
server.close();
await app.close();
