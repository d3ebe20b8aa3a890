/**
 * JSON-RPC over a plain TCP socket, one JSON text a line:
 *
 *   node --import tsx examples/tcp.ts 4000
 *   echo '{"id":1,"method":"math.add","params":[1,2]}' | nc -N 127.0.0.1 4000
 *
 * A client that ends its side still gets what it asked for. SIGINT and SIGTERM stop the listening, let
 * the calls in flight finish and end the program.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Dispatcher } from 'tandem-rpc';
import { type LineService, serveLines } from './lines.ts';

const dispatcher = new Dispatcher({
  modules: [fileURLToPath(new URL('./procedures.ts', import.meta.url))],
  workers: 2,
});
await dispatcher.ready();

const services = new Map<Socket, LineService>();

function serveSocket(socket: Socket): void {
  const { remoteAddress } = socket;
  const service = serveLines({
    input: socket,
    output: socket,
    answer: (line, signal) => dispatcher.dispatchText(line, { signal, remoteAddress }),
    maxLineBytes: 10 * 1024 ** 2,
    maxInFlight: 64,
  });
  services.set(socket, service);
  socket.on('close', () => services.delete(socket));
  void service.done.then(() => {
    socket.end();
    // Reads on, or the other side's end would never be seen; and does not wait for it for ever.
    socket.resume();
    setTimeout(() => socket.destroy(), 1000).unref();
  });
}

// Half-open: the end of a client's requests is not the end of its interest in the replies.
const server = createServer({ allowHalfOpen: true, noDelay: true }, serveSocket);
server.maxConnections = 1000;
server.listen(Number(process.argv[2] ?? 4000), '127.0.0.1');
await once(server, 'listening');
const { address, port } = server.address() as AddressInfo;
console.log(`listening on ${address}:${port}`);

await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
const closed = once(server, 'close');
server.close();
for (const service of services.values()) service.stop();
await closed;
await dispatcher.close();
