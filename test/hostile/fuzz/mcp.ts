import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { LineService } from '../../../src/extras/mcp/lines.ts';
import { McpServer } from '../../../src/extras/mcp/server.ts';
import type { Dispatcher } from '../../../src/index.ts';
import { post, type RawClient } from '../../http/raw-client.ts';
import { parseModel } from '../../jsonrpc/model.ts';
import { orHang } from '../../or-hang.ts';
import { servers } from '../../servers.ts';
import { startDispatcher, Target } from '../target.ts';
import { bytesOf, headersOf, headOf, type McpCase, mcpCase } from './mcp-case.ts';
import { type Answer, answerOf, maxBatch, type Reply } from './mcp-model.ts';
import { assertProperty, type Fuzzer } from './run.ts';

/** Until a hang is told. */
const hangMs = 60_000;

function isReply(text: string, { starts, isWhole }: Reply): boolean {
  return isWhole ? text === starts : text.startsWith(starts);
}

function assertReply(text: string, reply: Reply): void {
  assert.ok(isReply(text, reply), `${text} is not ${reply.starts}${reply.isWhole ? '' : '...'}`);
}

/** The texts of a batch's replies, by a reader that was written apart. */
function repliesIn(text: string): string[] {
  const batch = parseModel(text);
  assert.equal(batch?.kind, 'array', text);
  return batch.items.map(({ start, end }) => text.slice(start, end));
}

function assertAnswer(status: number, text: string, expected: Answer): void {
  switch (expected.kind) {
    case 'nothing':
      assert.deepEqual([status, text], [202, '']);
      break;
    case 'one':
      assert.equal(status, expected.status, text);
      assertReply(text, expected.reply);
      break;
    case 'batch': {
      assert.equal(status, 200, text);
      const replies = repliesIn(text);
      assert.equal(replies.length, expected.replies.length, text);
      for (const [i, reply] of expected.replies.entries()) assertReply(replies[i] as string, reply);
    }
  }
}

/** MCP on a pair of streams, as `tandem mcp` speaks it. */
class Lines {
  readonly #dispatcher: Dispatcher;
  readonly #server: McpServer;

  private constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    this.#server = new McpServer(dispatcher);
  }

  static async start(): Promise<Lines> {
    return new Lines(await startDispatcher('frames', { maxBatch }));
  }

  /** Sends all lines and ends the input: whatever was answered has come then. */
  async answers(bytes: Uint8Array): Promise<string[]> {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const lines = new LineService({
      input,
      output,
      service: this.#dispatcher,
      server: this.#server,
      authText: undefined,
      maxBodyBytes: 1 << 20,
      maxCalls: 3,
    });
    let text = '';
    output.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    const half = bytes.length >> 1;
    input.write(bytes.subarray(0, half));
    input.end(bytes.subarray(half));
    await orHang('the answers to lines', lines.done, hangMs);
    await new Promise((resolve) => output.end(resolve));
    return text.split('\n').slice(0, -1);
  }

  close(): Promise<void> {
    return this.#dispatcher.close(0);
  }
}

function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const end = bytes.indexOf(10, start);
    lines.push(bytes.subarray(start, end === -1 ? bytes.length : end));
    if (end === -1) break;
    start = end + 1;
  }
  return lines.filter((line) => !line.every((byte) => byte === 32 || byte === 9 || byte === 13));
}

/**
 * Messages of MCP, changed a little, with headers that say the same or not: over both servers, and as lines. Each has exactly the
 * answer of a model that was written apart.
 */
export class McpFuzzer implements Fuzzer {
  readonly #targets: readonly Target[];
  readonly #lines: Lines;
  readonly #clients = new Map<Target, RawClient>();

  private constructor(targets: readonly Target[], lines: Lines) {
    this.#targets = targets;
    this.#lines = lines;
  }

  static async start(): Promise<McpFuzzer> {
    const targets = [];
    for (const transport of servers)
      targets.push(await Target.start(transport, 'frames', { mcp: true, maxBatch }));
    return new McpFuzzer(targets, await Lines.start());
  }

  async run(parameters: Parameters<Fuzzer['run']>[0]): Promise<void> {
    const property = fc.asyncProperty(fc.array(mcpCase, { minLength: 1, maxLength: 4 }), (some) =>
      this.#check(some),
    );
    await assertProperty(property, parameters);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#targets, this.#lines].map((part) => part.close()));
  }

  async #check(some: readonly McpCase[]): Promise<void> {
    for (const target of this.#targets) {
      for (const one of some) {
        const body = bytesOf(one);
        const head = headOf(one, body);
        try {
          await this.#checkOver(target, body, head);
        } catch (error) {
          const sent = `${JSON.stringify(body.toString('latin1'))}, head ${JSON.stringify(head)}`;
          const message = `on ${target.transport}: ${String(error)}\nbody ${sent}`;
          throw new Error(message, { cause: error });
        }
      }
    }
    await this.#checkLines(some.map(bytesOf));
  }

  async #checkOver(target: Target, body: Buffer, head: ReturnType<typeof headOf>): Promise<void> {
    let client = this.#clients.get(target);
    if (client === undefined || client.closed) client = target.client();
    this.#clients.set(target, client);
    const asked = client.ask(post(body, headersOf(head), '/mcp'));
    const response = await orHang('an answer', asked, hangMs);
    assertAnswer(response.status, response.body.toString(), answerOf(body, head));
    assert.equal(client.received.length, 0, 'one answer and no other');
  }

  /** Calls end in any order: each answer that is due comes once, and no other. */
  async #checkLines(bodies: readonly Buffer[]): Promise<void> {
    const lines = bodies.flatMap(linesOf);
    const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
    const answers = await this.#lines.answers(bytes);
    for (const line of lines) {
      const expected = answerOf(line, undefined);
      if (expected.kind === 'nothing') continue;
      const at = answers.findIndex((answer) => isDue(answer, expected));
      const where = `among ${JSON.stringify(answers)}`;
      assert.ok(at !== -1, `no answer to the line ${JSON.stringify(line.toString())} ${where}`);
      answers.splice(at, 1);
    }
    assert.deepEqual(answers, [], 'answers that nobody asked for');
  }
}

function isDue(answer: string, expected: Exclude<Answer, { kind: 'nothing' }>): boolean {
  if (expected.kind === 'one') return isReply(answer, expected.reply);
  if (!answer.startsWith('[')) return false;
  const replies = repliesIn(answer);
  const { replies: due } = expected;
  return replies.length === due.length && due.every((reply, i) => isReply(replies[i] ?? '', reply));
}
