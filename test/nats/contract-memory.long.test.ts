import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../src/core/observe/log.ts';
import { Gateway } from '../../src/extras/nats/gateway/gateway.ts';
import type { Heartbeat } from '../../src/extras/nats/liveness.ts';
import { syncedText } from '../../src/extras/nats/wire.ts';
import { Dispatcher, Router } from '../../src/index.ts';
import { patience } from '../patience.ts';
import { until } from '../turns.ts';
import { connected } from './connected.ts';
import { documentOf, gatewayOptions, memberOf, streamsOf } from './parts.ts';
import { describeNats, NatsServer } from './server.ts';

/** Bytes of the longest contract that a gateway fetches. Of two it has room. */
const longest = 256 * 1024 ** 2;

describeNats('contracts of 512 MB together', () => {
  test('leave no room for one more until a member serves something else', async (t) => {
    const server = await NatsServer.startFor(t);
    const refused: { readonly contract: string; readonly most: number }[] = [];
    const log = createLog({
      level: 'warn',
      pretty: false,
      write: (line) => {
        const { event, ...fields } = JSON.parse(line);
        if (event === 'contract-refused') refused.push(fields);
      },
    });
    const { connection } = await connected(t, server.url);
    const { deadlines, streams } = streamsOf();
    const options = { ...gatewayOptions, connection, name: 's', id: 'gw', streams };
    const gateway = new Gateway(options, undefined, log);
    t.after(async () => {
      await gateway.close(0);
      deadlines.close();
    });
    await connection.flush();

    const { connection: stranger } = await connected(t, server.url);
    const beat = (id: string, contract: string): void => {
      const heartbeat: Heartbeat = {
        id,
        state: 'ready',
        contract,
        version: '1.0.0',
        started: 0,
        load: 0,
        gateways: 0,
        calls: 0,
        returns: 0,
      };
      stranger.publish('s.hb', JSON.stringify(heartbeat));
    };
    let begun = 0;
    for (const id of ['x0', 'x1']) {
      stranger.subscribe(`s.m.${id}`, () => {
        const answer = syncedText({ epoch: 1, session: 1, got: 0, from: 1 });
        stranger.publish(`s.g.gw.${id}`, answer);
      });
      // Every second question is answered, with one byte: the document never comes, and is never given up.
      let asked = 0;
      const answer = ({ reply = '' }): void => {
        asked++;
        if (asked % 2 === 0) return;
        if (asked === 1) begun++;
        const headers = [
          ['Tandem-Total', String(longest)],
          ['Tandem-Member', id],
        ] as const;
        stranger.publish(reply, 'x', { headers });
      };
      stranger.subscribe(`s.doc.large${id}`, answer);
      stranger.subscribe(`s.doc.large${id}_${id}`, answer);
    }
    await stranger.flush();
    for (const id of ['x0', 'x1']) beat(id, `large${id}`);
    await until(() => begun === 2);
    await stranger.flush();

    const router = new Router();
    router.rpc({ name: 'small' }, async () => null);
    const document = documentOf(router);
    const service = new Dispatcher({ ...patience, router, logLevel: 'silent', metrics: false });
    await service.ready();
    const { connection: third } = await connected(t, server.url);
    const member = memberOf(third, service, 'm1', document);
    t.after(async () => {
      member.close();
      await service.close(0);
    });
    await until(() => refused.length > 0);
    assert.deepEqual(
      refused.map(({ most }) => most),
      [2 * longest],
    );
    assert.equal(gateway.members, 0);

    beat('x0', 'nobody0has0it');
    await until(() => gateway.members === 1);
    assert.deepEqual([...gateway.procedures.keys()], ['small']);
    assert.equal(refused.length, 1, 'one line a contract');
  });
});
