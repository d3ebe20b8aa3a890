import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEach } from '../../each-case.ts';
import { formsOf, texts } from '../../texts.ts';
import { post, type RawResponse, rpc } from '../raw-client.ts';
import { opcodes, RawSocket } from '../socket/raw-socket.ts';
import type { Running, Start } from '../stub-server.ts';

const asText = (text: string) => text;

/** Replies in all their forms; has the service answer with the reply that is checked. */
async function checkReplies(
  { service }: Running,
  check: (reply: string) => Promise<void>,
  pad = asText,
): Promise<void> {
  const replies = texts.flatMap((text) =>
    Object.entries(formsOf(pad(text))).map(([form, reply]) => ({ form, reply })),
  );
  await checkEach(
    replies,
    ({ form, reply }) => `${JSON.stringify(reply.slice(0, 20))}, ${form}`,
    async ({ reply }) => {
      service.handle = (_body, _scope, sink) => sink.onReply(reply);
      await check(reply);
    },
  );
}

function assertBody({ headers, body }: RawResponse, text: string): void {
  const bytes = Buffer.from(text);
  assert.equal(body.toString('hex'), bytes.toString('hex'));
  const length = headers.find(([name]) => name === 'content-length')?.[1];
  assert.equal(length, String(bytes.length));
}

/** What leaves is UTF-8, whatever the characters are and however V8 holds them. */
export function text(start: Start): void {
  for (const [what, pad] of [
    ['for é, ü, ÿ, C1 and wide characters, and its length counts bytes', asText],
    ['over 16 KiB', (given: string) => given.repeat(Math.ceil(20_000 / given.length))],
  ] as const) {
    test(`a reply is UTF-8 ${what}`, async (t) => {
      const running = await start(t);
      const one = running.client();
      const check = async (reply: string) => assertBody(await one.ask(post(rpc('echo'))), reply);
      await checkReplies(running, check, pad);
    });
  }

  test('a reply that closes its connection is UTF-8', async (t) => {
    const running = await start(t);
    await checkReplies(running, async (reply) => {
      const one = running.client();
      const response = await one.ask(post(rpc('echo'), { connection: 'close' }));
      assertBody(response, reply);
    });
  });

  test('the reply to a chunked body is UTF-8', async (t) => {
    const running = await start(t);
    const chunked = { 'content-length': undefined, 'transfer-encoding': 'chunked' };
    const body = rpc('echo');
    const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    await checkReplies(running, async (reply) => {
      const one = running.client();
      const response = await one.ask(Buffer.concat([post('', chunked), Buffer.from(chunks)]));
      assertBody(response, reply);
    });
  });

  test('a WebSocket message is one text frame of UTF-8', async (t) => {
    const running = await start(t);
    const socket = await RawSocket.open(running.client());
    await checkReplies(running, async (reply) => {
      await socket.send(rpc('echo'));
      const { opcode, payload } = await socket.frame();
      assert.equal(opcode, opcodes.text);
      assert.equal(payload.toString('hex'), Buffer.from(reply).toString('hex'));
    });
  });

  for (const [way, wait] of [
    ['in one turn', 0],
    ['later', 1],
  ] as const) {
    test(`WebSocket messages that are answered together, ${way}, are UTF-8`, async (t) => {
      const { client, service } = await start(t);
      const socket = await RawSocket.open(client());
      const answers = [...texts];
      service.handle = (_body, _scope, sink) => {
        const answer = answers.shift();
        if (wait === 0) sink.onReply(answer);
        else queueMicrotask(() => sink.onReply(answer));
      };
      for (const _ of texts) await socket.send(rpc('echo'));
      for (const expected of texts) {
        const { payload } = await socket.frame();
        assert.equal(payload.toString('hex'), Buffer.from(expected).toString('hex'));
      }
    });
  }
}
