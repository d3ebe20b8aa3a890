import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { json, post, type RawClient, rpc, socketPath } from '../raw-client.ts';
import type { Start, StubService } from '../stub-server.ts';

const callers = 64;

/** How many replies node:http lets wait at a time; uWebSockets.js sends those of a whole turn. */
const together = { uws: callers, node: 16 } as const;

/** Notes in `log` when a call is handed to the service, and when its reply is sent. */
function note(service: StubService, log: string[]): void {
  service.tracing = {
    begin: () => ({
      call: () => assert.fail('the stub traces no calls'),
      end: () => void log.push('reply'),
    }),
  };
  const handle = service.handle.bind(service);
  service.handle = (body, scope, sink) => {
    log.push('call');
    handle(body, scope, sink);
  };
}

/** The lengths of the rows of replies: those that nothing came between. */
function rows(log: readonly string[]): number[] {
  return log
    .join(' ')
    .split(/(?:call ?)+/)
    .map((row) => row.split(' ').filter((one) => one === 'reply').length)
    .filter((length) => length > 0);
}

export function replyTurns(start: Start, transport: 'uws' | 'node'): void {
  /**
   * Connections with calls that the server reads in one turn: each has written its call before the server can run. What is written
   * into a Unix socket is at its reader at once; a busy Linux passes on what goes by TCP later.
   */
  async function callersOf(t: TestContext, method: string) {
    const { client, service } = await start(t, { socket: socketPath() });
    const clients = Array.from({ length: callers }, client);
    await Promise.all(clients.map((one) => one.ask(post(rpc(method, 'first', 0)))));
    const log: string[] = [];
    note(service, log);
    const round = async (id: number): Promise<string[]> => {
      log.length = 0;
      for (const one of clients) one.socket.write(post(rpc(method, 'x', id)));
      for (const one of clients) assert.equal(json(await one.response()).id, id);
      return [...log];
    };
    // One turn is counted every 64 replies. The first round may end in the turn that is counted.
    for (let id = 1; id <= 3; id++) await round(id);
    return { clients, round, log };
  }

  for (const method of ['echo', 'soon']) {
    test(`the replies of a turn with ${callers} calls leave in a row: ${method}`, async (t) => {
      const { round } = await callersOf(t, method);
      const size = together[transport];
      assert.deepEqual(
        rows(await round(4)),
        Array.from({ length: callers / size }, () => size),
      );
    });
  }

  test('each reply leaves at once as soon as turns bring one call again', async (t) => {
    const { clients, log } = await callersOf(t, 'echo');
    const [one] = clients as [RawClient];
    await one.ask(post(rpc('echo', 'x', 5)));
    log.length = 0;
    const immediate = new Promise<void>((resolve) => {
      one.socket.write(post(rpc('echo', 'x', 6)));
      setImmediate(resolve);
    });
    await immediate;
    assert.equal(json(await one.response()).id, 6);
    assert.deepEqual(log, ['call', 'reply']);
  });

  test('a connection that pipelines more calls than there are connections gets its replies at once', async (t) => {
    const { client } = await start(t);
    const one = client();
    for (let round = 0; round < 4; round++) {
      await one.write(Buffer.concat(ids().map((id) => post(rpc('echo', 'x', id)))));
      for (const id of ids()) assert.equal(json(await one.response()).id, id);
    }
  });

  test('pipelined calls while replies leave together: node:http keeps the order, uWebSockets.js closes once', async (t) => {
    const { clients } = await callersOf(t, 'echo');
    const [first, second] = clients as [RawClient, RawClient];
    const calls = Buffer.concat([7, 8, 9].map((id) => post(rpc('echo', 'x', id))));
    await first.write(calls);
    if (transport === 'uws') await first.untilClosed();
    else for (const id of [7, 8, 9]) assert.equal(json(await first.response()).id, id);
    // From then on replies leave at once, so that pipelined calls are answered.
    await second.write(calls);
    for (const id of [7, 8, 9]) assert.equal(json(await second.response()).id, id);
  });
}

function ids(): number[] {
  return Array.from({ length: callers }, (_, id) => id);
}
