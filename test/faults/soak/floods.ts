import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { orHang } from '../../or-hang.ts';
import { plan, toRequest } from '../plans.ts';
import { Caller } from './caller.ts';
import { pause } from './server.ts';
import type { Streams } from './streams.ts';
import type { Tally } from './tally.ts';

/** More than the server of the soak allows one address (450 of 1000), and one caller (180 of 200). */
const connections = 600;
const streams = 300;
const rubbish = 200;

/** The flood comes from addresses of its own: a connection belongs to its address. */
const connectionsFrom = '127.0.0.2';
const messagesFrom = '127.0.0.3';

/** Of the polite caller, during each flood. */
const politeCalls = 20;
const politeStreams = 2;

/**
 * A caller that takes every connection and stream that it can get and sends text that is no JSON, and a polite caller that
 * asks for little meanwhile: it must get all of that.
 */
export class Floods {
  readonly #url: URL;
  readonly #tally: Tally;
  readonly #streams: Streams;
  readonly #polite: Caller;

  constructor(url: string, tally: Tally, streams: Streams) {
    this.#url = new URL(url);
    this.#tally = tally;
    this.#streams = streams;
    this.#polite = new Caller(url, tally, 1);
  }

  async burst(): Promise<void> {
    const sockets = await this.#connect();
    const taker = await this.#take();
    try {
      for (let call = 0; call < politeCalls; call++) {
        if (call < politeStreams) await this.#streams.readOne('stream beside a flood');
        await this.#callPolitely();
        await pause(5);
      }
    } finally {
      taker.terminate();
      for (const socket of sockets) socket.destroy();
    }
  }

  end(): void {
    this.#polite.end();
  }

  /** Nobody who asks for little was refused. */
  check(): void {
    for (const name of ['beside a flood', 'stream beside a flood']) {
      const { refused } = this.#tally.row(name);
      if (refused > 0) this.#tally.violations.push(`${name}: ${refused} refused`);
    }
  }

  async #callPolitely(): Promise<void> {
    const row = this.#tally.row('beside a flood');
    const one = plan('echo', { method: 'in.long' });
    const isOk = (_plan: unknown, outcome: string): boolean => outcome === 'ok';
    await this.#polite.send([one], () => row, isOk, 'polite beside a flood');
  }

  /** Connections that send nothing. Those beyond the share are closed by the server. */
  async #connect(): Promise<readonly Socket[]> {
    const { hostname: host, port } = this.#url;
    const sockets = Array.from({ length: connections }, () =>
      connect({ host, port: Number(port), localAddress: connectionsFrom }),
    );
    const opened = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          for (const event of ['connect', 'error', 'close']) socket.on(event, () => resolve());
        }),
    );
    await orHang('connections of a flood', Promise.all(opened));
    return sockets;
  }

  /** Opens streams that go on until they are left, and sends rubbish. Each message has one answer. */
  async #take(): Promise<WebSocket> {
    const options = { headers: { authorization: 'taker' }, localAddress: messagesFrom };
    const socket = new WebSocket(this.#url.href.replace(/^http/, 'ws'), options);
    socket.on('error', () => {});
    await orHang('the socket of a flood', once(socket, 'open'));
    const codes = new Map<string, number>();
    let answers = 0;
    const answered = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const { method, error } = JSON.parse((data as Buffer).toString()) as Answer;
        // The end of a stream, by a reload or the loss of a thread.
        if (method !== undefined) return;
        const code = error === undefined ? 'ok' : String(error.code);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        answers++;
        if (answers === streams + rubbish) resolve();
      });
      socket.on('close', () => resolve());
    });
    for (let sent = 0; sent < streams; sent++) {
      const { id, method, params } = plan('echo', { method: 'stream.wait' });
      const request = toRequest({
        id,
        method,
        params: Object.assign(params, { count: 0, pad: 0 }),
      });
      socket.send(JSON.stringify(request));
    }
    for (let sent = 0; sent < rubbish; sent++) socket.send('{"jsonrpc":"2.0","id":');
    await orHang('answers to a flood', answered);
    const refused = codes.get('-32000') ?? 0;
    // A reload and the loss of a thread end streams that open meanwhile; -32004 is the bound of one connection.
    const isKnown = (code: string): boolean =>
      ['ok', '-32000', '-32002', '-32003', '-32004', '-32700'].includes(code);
    const isRight =
      answers === streams + rubbish && refused > 0 && [...codes.keys()].every(isKnown);
    if (!isRight) {
      this.#tally.violations.push(`answers to a flood: ${JSON.stringify([...codes])}`);
    }
    return socket;
  }
}

interface Answer {
  readonly method?: string;
  readonly error?: { readonly code: number };
}
