import { request } from 'node:http';
import { orHang } from '../../or-hang.ts';
import { plan, readAnswer, toRequest } from '../plans.ts';
import { pick } from '../random.ts';
import { pause } from './server.ts';
import { SoakSocket } from './socket.ts';
import { type StreamMessage, type StreamPlan, StreamReader } from './stream-reader.ts';
import type { Tally } from './tally.ts';

/** Streams that are read at the same time: over server-sent events, and over each of the sockets. */
const eventReaders = 3;
const sockets = 2;
const readersOfSocket = 3;

/** One in so many is larger than what the system keeps of a connection. */
const largeEvery = 40;

const methods = ['stream.count', 'stream.later', 'stream.burn', 'in.stream'] as const;

/** Each value of one that computes takes a millisecond of a worker. */
const mostBurnt = 30;

/** Reads streams beside the load, over server-sent events and WebSockets: to the end, with stalls, or leaving early. */
export class Streams {
  readonly #url: string;
  readonly #tally: Tally;
  readonly #random: () => number;

  constructor(url: string, tally: Tally, random: () => number) {
    this.#url = url;
    this.#tally = tally;
    this.#random = random;
  }

  async run(isOver: () => boolean): Promise<void> {
    const lanes = Array.from({ length: eventReaders }, () => this.#readEvents(isOver));
    const open = Array.from({ length: sockets }, (_, i) => this.#readSocket(`socket ${i}`, isOver));
    await Promise.all([...lanes, ...open]);
  }

  async #readEvents(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const leaveAfter = this.#leaveAfter();
      await this.#readOver(this.#reader('events', leaveAfter), leaveAfter);
      await pause(20);
    }
  }

  async #readSocket(name: string, isOver: () => boolean): Promise<void> {
    const socket = await SoakSocket.open(this.#url, this.#tally.violations, name);
    const readers = Array.from({ length: readersOfSocket }, async () => {
      while (!isOver()) {
        const leaveAfter = this.#leaveAfter();
        const reading = socket.read(this.#reader('socket', leaveAfter), leaveAfter);
        if (this.#random() < 0.1) socket.stall(50);
        await Promise.all([reading, this.#call(socket)]);
        await pause(20);
      }
    });
    await Promise.all(readers);
    socket.close();
  }

  async #call(socket: SoakSocket): Promise<void> {
    const one = plan('echo', { method: pick(this.#random, ['in.act', 'long']) });
    this.#tally.begin(one, this.#tally.row('over socket'));
    const answer = await socket.call(one);
    try {
      for (const { outcome } of readAnswer(one, JSON.stringify(answer))) {
        this.#tally.answered(one, outcome, outcome === 'ok');
      }
    } catch (error) {
      this.#tally.crossed(one, String(error));
    }
  }

  /** Infinity: it reads to the end. */
  #leaveAfter(): number {
    return this.#random() < 0.2 ? Math.floor(this.#random() * 50) : Number.POSITIVE_INFINITY;
  }

  #reader(way: string, leaveAfter: number): StreamReader {
    const isLarge = this.#random() < 1 / largeEvery;
    const { id, method, params } = plan('echo', { method: pick(this.#random, methods) });
    const most = method === 'stream.burn' ? mostBurnt : 200;
    const count = isLarge && method !== 'stream.burn' ? 800 : 1 + Math.floor(this.#random() * most);
    // One that is left has more to give than its reader takes.
    const more = Number.isFinite(leaveAfter) ? leaveAfter + 1 : 0;
    const size = { count: count + more, pad: isLarge ? 10_000 : 0 };
    const one: StreamPlan = { id, method, params: { ...params, ...size } };
    const row = Number.isFinite(leaveAfter) ? 'stream left' : way;
    return new StreamReader(one, this.#tally, this.#tally.row(row));
  }

  /** One stream over server-sent events, on a connection of its own. */
  async #readOver(
    reader: StreamReader,
    leaveAfter: number,
    as = 'a reader of events',
  ): Promise<void> {
    const body = JSON.stringify(toRequest(reader.plan));
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      accept: 'text/event-stream, application/json',
      authorization: as,
    };
    const over = new Promise<void>((resolve) => {
      const sent = request(this.#url, { method: 'POST', agent: false, headers }, (response) => {
        const isStream = response.headers['content-type'] === 'text/event-stream';
        let rest = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          const blocks = (rest + text).split('\n\n');
          rest = isStream ? (blocks.pop() ?? '') : rest + text;
          if (!isStream) return;
          for (const block of blocks) {
            if (reader.isOver || block === ':') continue;
            const { params, ...reply } = JSON.parse(block.slice('data: '.length)) as StreamMessage;
            if (params !== undefined) reader.value(params.result);
            else if (reply.id !== reader.plan.id) reader.lost(`the end of ${String(reply.id)}`);
            else reader.end(reply);
            if (!reader.isOver && reader.values >= leaveAfter) {
              reader.left();
              sent.destroy();
            }
          }
          if (this.#random() < 0.01) {
            response.pause();
            setTimeout(() => response.resume(), 50);
          }
        });
        response.on('close', () => {
          // What fails before the stream opens is an ordinary reply.
          if (!isStream && !reader.isOver) reader.end(JSON.parse(rest) as StreamMessage);
          if (!reader.isOver) reader.lost('the connection was closed');
          resolve();
        });
      });
      sent.on('error', (error) => {
        if (!reader.isOver) reader.lost(String(error));
        resolve();
      });
      sent.end(body);
    });
    await orHang(`stream ${reader.plan.params.n}`, over);
  }
}
