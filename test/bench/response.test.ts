import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { runMixed } from '../../bench/load/mixed.ts';
import { probe } from '../../bench/load/probe.ts';
import { readResponse } from '../../bench/load/response.ts';

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n';

function read(text: string) {
  return readResponse(Buffer.from(text));
}

async function serve(t: { after(end: () => void): void }, reply: () => string): Promise<number> {
  const server: Server = createServer((request, response) => {
    request.resume().on('end', () => response.end(reply()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe("the benchmark's client", () => {
  it('reads a response of a given length, when all of it is there', () => {
    const whole = `${head}Content-Length: 5\r\n\r\nhéll`;
    assert.deepEqual(read(whole), { status: 200, body: 'héll', bytes: Buffer.byteLength(whole) });
    assert.equal(read(whole.slice(0, -1)), undefined);
    assert.equal(read(head), undefined);
  });

  it('reads a response in chunks', () => {
    const whole = `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n`;
    assert.deepEqual(read(whole), { status: 200, body: 'abc0123456789', bytes: whole.length });
    for (let end = head.length; end < whole.length; end++) {
      assert.equal(read(whole.slice(0, end)), undefined, `${end}`);
    }
  });

  it('refuses a response that does not say where it ends', () => {
    assert.throws(() => read(`${head}\r\nabc`), /does not say where it ends/);
  });

  it('fails where a reply is wrong at the start', async (t) => {
    const port = await serve(t, () => '{"result":4}');
    const question = { body: '{}', expected: { result: 3 } };
    await assert.rejects(probe(port, '/', [question]), /gave 200 \{"result":4\} and not/);
  });

  it('fails where a reply becomes wrong under load, and counts the others', async (t) => {
    let calls = 0;
    let isRight = true;
    const port = await serve(t, () => {
      calls++;
      return isRight ? '3' : '4';
    });
    const goal = await probe(port, '/', [{ body: '{}', expected: 3 }]);
    const closed = { goal, connections: 2 };
    const { closed: tally } = await runMixed({ seconds: 0.1, closed });
    assert.equal((tally?.results ?? 0) + 1, calls);
    isRight = false;
    const paced = { goal, perSecond: 500 };
    for (const load of [{ closed }, { paced }]) {
      // A busy machine may send nothing in a tenth of a second.
      const untilWrong = async (): Promise<never> => {
        for (;;) await runMixed({ seconds: 0.1, ...load });
      };
      await assert.rejects(untilWrong, /a wrong answer: 200 4 and not 3/);
    }
  });
});
