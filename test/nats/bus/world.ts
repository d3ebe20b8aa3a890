import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { createLog, type Log } from '../../../src/core/observe/log.ts';
import { Router } from '../../../src/core/procedures/router.ts';
import type { Reply } from '../../../src/core/protocol/reply.ts';
import { Dispatcher } from '../../../src/core/service/dispatcher.ts';
import { Gateway } from '../../../src/extras/nats/gateway/gateway.ts';
import type { Member } from '../../../src/extras/nats/member/member.ts';
import { patience } from '../../patience.ts';
import { replyOf } from '../../replies.ts';
import { documentOf, gatewayOptions, memberOf, streamsOf } from '../parts.ts';
import { Bus } from './bus.ts';

/** A gateway and its members, over a bus. */
export class World {
  readonly bus = new Bus();
  readonly gateway: Gateway;
  readonly #t: TestContext;

  constructor(t: TestContext, namesKeptMs: number, log: Log = createLog({ level: 'silent' })) {
    this.#t = t;
    const { deadlines, streams } = streamsOf();
    const connection = this.bus.connect();
    const options = { ...gatewayOptions, connection, name: 's', id: 'gw', namesKeptMs, streams };
    this.gateway = new Gateway(options, undefined, log);
    t.after(async () => {
      await this.gateway.close(0);
      deadlines.close();
    });
  }

  /** A member whose procedures say its id. */
  async join(id: string, procedures: readonly string[]): Promise<Member> {
    const before = this.gateway.members;
    const router = new Router();
    for (const name of procedures) router.rpc({ name }, async () => id);
    const service = new Dispatcher({ ...patience, router, logLevel: 'silent', metrics: false });
    await service.ready();
    const member = memberOf(this.bus.connect(), service, id, documentOf(router));
    this.#t.after(async () => {
      member.close();
      await service.close(0);
    });
    await this.until(() => this.gateway.members > before);
    return member;
  }

  get names(): string[] {
    return [...this.gateway.procedures.keys()].sort();
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  async call(name: string): Promise<Reply> {
    const procedure = this.gateway.procedures.get(name);
    assert.ok(procedure !== undefined, `${name} is not known`);
    const scope = new RequestScope({});
    const params = undefined;
    const call = { procedure, id: '1', params, source: undefined, start: -1, end: -1, scope };
    return replyOf(this.gateway.executor, call);
  }
}
