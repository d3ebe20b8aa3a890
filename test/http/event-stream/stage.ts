import assert from 'node:assert/strict';
import { type ConfigOptions, Dispatcher, Router, RpcError, Type } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/server/http/edge/http-options.ts';
import { recorder } from '../../harness.ts';
import { type Listening, type Put, waysIn } from '../../transports/subjects/http.ts';
import { until } from '../../turns.ts';
import { RawClient, rpc } from '../raw-client.ts';
import { defaults } from '../stub-server.ts';
import { EventClient } from './event-client.ts';

export { rpc };

/** A way in, by its name; uWebSockets.js differs from the others where a test says so. */
export const ways = waysIn.map((way) => ({ ...way, isUws: way.server === 'uws' }));

/** The servers of this package; the other ways in are other people's servers with its handler. */
export const ownServers = ways.filter(({ server }) => server !== undefined);

/** A service of streams on this thread behind one way in. */
export class Stage {
  readonly service: Dispatcher;
  readonly isUws: boolean;
  /** How many values the generators have given. */
  given = 0;
  /** The `finally` blocks that ran, by the names of their procedures. */
  readonly closed: string[] = [];
  readonly warnings: string[] = [];
  #listening: Listening | undefined;
  readonly #clients: { destroy(): void }[] = [];

  private constructor(options: ConfigOptions, isUws: boolean) {
    this.isUws = isUws;
    this.service = new Dispatcher({ router: routerOf(this), log: recorder().log, ...options });
  }

  static async open(
    { put, isUws }: { readonly put: Put; readonly isUws: boolean },
    options: ConfigOptions = {},
    http: Partial<HttpOptions> = {},
  ): Promise<Stage> {
    const stage = new Stage(options, isUws);
    await stage.service.ready();
    const warn = (message: string) => stage.warnings.push(message);
    const all = { ...defaults, shutdownGraceMs: 1000, warn, ...http };
    stage.#listening = await put(stage.service, all);
    return stage;
  }

  client(): EventClient {
    const client = new EventClient(this.port);
    this.#clients.push(client);
    return client;
  }

  raw(): RawClient {
    const client = new RawClient(this.port);
    this.#clients.push(client);
    return client;
  }

  get port(): number {
    return this.#listening?.port ?? 0;
  }

  /** Resolves when the generators have given nothing for many turns of the event loop, with how much they gave. */
  async stalled(): Promise<number> {
    for (let quiet = 0, seen = -1; quiet < 200; quiet++) {
      if (seen !== this.given) quiet = 0;
      seen = this.given;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return this.given;
  }

  /** Resolves when so many generators have run their `finally` block. */
  async untilClosed(count = 1): Promise<void> {
    await until(() => this.closed.length >= count);
  }

  /** Ends the way in, which must not wait for anything, and the service: nothing is left that holds memory. */
  async close(): Promise<void> {
    for (const client of this.#clients) client.destroy();
    await this.#listening?.close();
    await this.service.close();
    assert.deepEqual(this.warnings, []);
    // A server of node:http is closed a moment before its last connection tells that it is.
    const { replyMemory, bodyMemory } = this.service;
    await until(() => replyMemory.stats().waiting + bodyMemory.stats().inUse === 0);
  }
}

/** What the stage serves. Its generators tell the stage what they give and when they end. */
function routerOf(stage: Stage): Router {
  const router = new Router();
  router.rpc(
    { name: 'count', params: Type.Object({ to: Type.Integer() }), yields: Type.Integer() },
    async function* ({ to }) {
      try {
        for (let i = 0; i < to; i++) {
          stage.given++;
          yield i;
        }
        return 'all';
      } finally {
        stage.closed.push('count');
      }
    },
  );
  router.rpc(
    { name: 'texts', params: Type.Object({ size: Type.Integer(), count: Type.Integer() }) },
    function* texts({ size, count }) {
      try {
        for (let i = 0; i < count; i++) {
          stage.given++;
          yield `${i} ${'é'.repeat(size)}`;
        }
      } finally {
        stage.closed.push('texts');
      }
    },
  );
  router.rpc(
    { name: 'say', params: Type.Object({ lines: Type.Array(Type.String()) }) },
    function* say({ lines }) {
      yield* lines;
      throw new RpcError(17, lines.join(''));
    },
  );
  router.rpc({ name: 'quiet' }, async function* quiet(_params, { signal }) {
    try {
      yield 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      stage.closed.push('quiet');
    }
  });
  router.rpc({ name: 'silent' }, async function* silent(_params, { signal }) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield 1;
  });
  router.rpc({ name: 'few', stream: { collect: true } }, function* few() {
    yield* [1, 'two', { three: 3 }];
  });
  router.rpc({ name: 'endless', stream: { collect: true } }, function* endless() {
    try {
      for (;;) yield 'value';
    } finally {
      stage.closed.push('endless');
    }
  });
  router.rpc({ name: 'waits', stream: { collect: true } }, async function* waits(_, { signal }) {
    stage.given++;
    try {
      yield 1;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    } finally {
      stage.closed.push('waits');
    }
  });
  router.rpc({ name: 'price_subscribe' }, function* prices() {
    yield 7;
  });
  router.rpc({ name: 'dialect', stream: { notification: 'slotNotification' } }, function* slot() {
    yield 7;
  });
  router.rpc({ name: 'refuses' }, function* refuses() {
    yield 1;
    throw new RpcError(17, 'Sold out', { left: 0 });
  });
  router.rpc({ name: 'fails' }, function* fails() {
    yield 1;
    throw new Error('secret');
  });
  router.rpc({ name: 'mismatched', yields: Type.Integer() }, function* mismatched() {
    yield 1;
    yield 'two' as never;
  });
  router.rpc({ name: 'returns' }, function* returns() {
    yield 1;
    return 'x'.repeat(20_000);
  });
  router.rpc({ name: 'none', stream: true }, (() => 7) as never);
  router.rpc({ name: 'plain' }, () => 7);
  return router;
}
