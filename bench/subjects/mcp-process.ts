/** MCP in a process of its own: over HTTP beside /rpc, in process beside a plain call, and a catalogue of 10,000 tools. */

import { threadCpuMs } from '../../src/core/dispatch/front-end-watch.ts';
import { RequestScope } from '../../src/core/dispatch/scope.ts';
import { McpServer } from '../../src/extras/mcp/server.ts';
import { Dispatcher, Router, RpcApp, Type } from '../../src/index.ts';
import { expose } from '../process/expose.ts';
import { firstId, operands } from './fixed.ts';
import router from './procedures-inline.ts';
import { add, addParams } from './work.ts';

/** So many distinct inputs that no cache holds one until it comes again. */
const variety = 512;
const tools = 10_000;

const client = { head: undefined, events: undefined, outlet: undefined };
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

function bodies(method: string, params: (n: number) => object): string[] {
  return Array.from({ length: variety }, (_, n) =>
    JSON.stringify({ jsonrpc: '2.0', id: firstId + n, method, params: params(n) }),
  );
}

/** Microseconds of CPU time of one call: of a plain one, or of the same by MCP. */
async function share({
  kind,
  seconds,
}: {
  kind: 'plain' | 'mcp';
  seconds: number;
}): Promise<number> {
  const dispatcher = new Dispatcher({ router, logLevel: 'error' });
  await dispatcher.ready();
  const server = new McpServer(dispatcher);
  const plain = bodies('add', operands);
  const asTool = bodies('tools/call', (n) => ({
    name: 'add',
    arguments: operands(n),
    _meta: meta,
  }));
  const once: () => readonly unknown[] =
    kind === 'plain'
      ? () => plain.map((text) => dispatcher.handle(text, new RequestScope()))
      : () => asTool.map((text) => server.handle(text, new RequestScope(), client));
  // The code is compiled by then.
  for (let i = 0; i < 20; i++) await Promise.all(once());
  let calls = 0;
  const until = performance.now() + seconds * 1000;
  const began = threadCpuMs();
  do calls += once().length;
  while (performance.now() < until);
  const us = ((threadCpuMs() - began) * 1000) / calls;
  await dispatcher.close();
  return us;
}

/** Milliseconds of CPU time that a list of all tools takes from its first page to its last, and those of the longest turn meanwhile. */
async function catalogue(): Promise<{ allMs: number; turnMs: number }> {
  const many = new Router();
  for (let n = 0; n < tools; n++) {
    many.rpc(
      { name: `tools.p${n}`, params: addParams, returns: Type.Number(), placement: 'inline' },
      add,
    );
  }
  const dispatcher = new Dispatcher({ router: many, logLevel: 'error' });
  await dispatcher.ready();
  const server = new McpServer(dispatcher);
  let turnMs = 0;
  let isOver = false;
  let last = threadCpuMs();
  const watch = (): void => {
    const now = threadCpuMs();
    turnMs = Math.max(turnMs, now - last);
    last = now;
    if (!isOver) setImmediate(watch);
  };
  setImmediate(watch);
  const began = threadCpuMs();
  let cursor: string | undefined;
  let seen = 0;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
    const answer = await server.handle(body, new RequestScope(), client);
    const { result } = JSON.parse(typeof answer === 'string' ? answer : '') as {
      readonly result: { readonly tools: unknown[]; readonly nextCursor?: string };
    };
    seen += result.tools.length;
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  isOver = true;
  if (seen !== tools) throw new Error(`${seen} tools were listed`);
  const allMs = threadCpuMs() - began;
  await dispatcher.close();
  return { allMs, turnMs };
}

const app = new RpcApp({ router, mcp: true, logLevel: 'error' });
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

expose(port, { share, catalogue });
