import { createServer, type Server, type Socket } from 'node:net';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../core/base/message-of.ts';
import type { LogLevel, OwnLog } from '../../core/observe/log.ts';
import { SocketFile } from '../http/edge/http-server.ts';
import { type Answer, limitOf, type Order, parseOrder } from './orders.ts';

/** The longest order, characters. */
const maxOrderLength = 4096;

/** How long a client may take to send its order, and to read a part of the answer, milliseconds. */
const clientMs = 10_000;

/** Operators are few. */
const maxClients = 16;

/** Only the user that the service runs as may connect. */
const mode = 0o600;

/** @param left aborts when the client has gone */
type Ask = (order: Order, left: AbortSignal) => AsyncIterable<Answer>;

/**
 * The socket by which operators give orders to a running service. Who can open its file is the operator: nobody is asked who they
 * are. A client sends an order, one line of JSON, and gets one line for each process, then `{"done":true}`:
 *
 *     -> {"order":"log-level","level":"debug","forMs":60000}
 *     <- {"process":1,"pid":4528,"answer":{"level":"debug","forMs":60000}}
 *     <- {"done":true}
 *
 * An order that can't be is answered by `{"error":"..."}`.
 */
export class AdminSocket {
  readonly #server: Server;
  readonly #file: SocketFile;
  readonly #clients = new Set<Socket>();

  private constructor(server: Server, file: SocketFile) {
    this.#server = server;
    this.#file = file;
    server.maxConnections = maxClients;
    server.on('connection', (client) => {
      this.#clients.add(client);
      client.on('close', () => this.#clients.delete(client));
    });
  }

  /**
   * @param log of this process, whose level orders change
   * @param ask has each process carry out an order; a client that leaves ends the iteration
   * @throws StartupError with one line: somebody else listens at the path, or it can't be written to
   */
  static async listen(path: string, log: OwnLog, ask: Ask): Promise<AdminSocket> {
    const file = await SocketFile.prepare(resolve(path), mode, false, 'adminSocket');
    const level = new LevelSwitch(log, ask);
    const carryOut: Ask = (order, left) => {
      if (order.order === 'log-level') level.change(order);
      return ask(order, left);
    };
    try {
      const server = createServer((client) => void serve(client, carryOut));
      await new Promise<void>((done, fail) => {
        server.once('error', fail).listen(file.private, done);
      });
      // It alone keeps no process alive.
      server.unref();
      await file.publish().catch((error: unknown) => {
        server.close();
        throw error;
      });
      return new AdminSocket(server, file);
    } finally {
      await file.discard();
    }
  }

  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    this.#server.close();
    await this.#file.remove();
  }
}

async function serve(client: Socket, carryOut: Ask): Promise<void> {
  client.setTimeout(clientMs, () => client.destroy());
  try {
    const line = await lineOf(client);
    if (line === undefined) return;
    const order = line.length > maxOrderLength ? 'too long' : parseOrder(line);
    const left = new AbortController();
    if (typeof order !== 'string') {
      client.setTimeout(limitOf(order) + clientMs);
      client.on('close', () => left.abort());
      // Only who reads hears that the other side has gone. What else it sends is ignored.
      if (order.order === 'profile') client.resume();
    }
    await pipeline(Readable.from(linesOf(order, carryOut, left.signal)), client);
  } catch {
    // The client has gone.
    client.destroy();
  }
}

/** undefined: the client has left before its order had ended. */
function lineOf(client: Socket): Promise<string | undefined> {
  let text = '';
  return new Promise((done) => {
    client.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end === -1 && text.length <= maxOrderLength) return;
      client.pause().removeAllListeners('data');
      done(end === -1 ? text : text.slice(0, end));
    });
    client.on('error', () => done(undefined)).on('close', () => done(undefined));
  });
}

/** @param order a text: what is wrong with it */
async function* linesOf(
  order: Order | string,
  carryOut: Ask,
  left: AbortSignal,
): AsyncGenerator<string> {
  if (typeof order === 'string') {
    yield `${JSON.stringify({ error: order })}\n`;
    return;
  }
  try {
    for await (const answer of carryOut(order, left)) yield `${JSON.stringify(answer)}\n`;
    yield '{"done":true}\n';
  } catch (error) {
    yield `${JSON.stringify({ error: messageOf(error) })}\n`;
  }
}

class LevelSwitch {
  readonly #log: OwnLog;
  readonly #usual: LogLevel;
  readonly #ask: Ask;
  #timer: NodeJS.Timeout | undefined;

  constructor(log: OwnLog, ask: Ask) {
    this.#log = log;
    this.#usual = log.level;
    this.#ask = ask;
  }

  /** Of this process; the others get the order themselves. */
  change(order: Order): void {
    const { level, forMs } = order as Order & { readonly level: LogLevel; readonly forMs: number };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#goBack(), forMs).unref();
    this.#log.setLevel(level);
    this.#log.always(
      { event: 'log-level', logLevel: level, forMs },
      `the log level is ${level} for ${Math.round(forMs / 1000)} s: asked for by the admin socket`,
    );
  }

  async #goBack(): Promise<void> {
    const level = this.#usual;
    this.#log.setLevel(level);
    this.#log.always({ event: 'log-level', logLevel: level }, `the log level is ${level} again`);
    // Its own signal: those who listen to it stay for as long as it does.
    const { signal } = new AbortController();
    for await (const _ of this.#ask({ order: 'log-level', level, forMs: 0 }, signal));
  }
}
