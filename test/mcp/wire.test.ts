/** docs/protocol.md, "Tools for agents (MCP)": the wire, over each server. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { suiteLifetime } from '../harness.ts';
import { header } from '../http/raw-client.ts';
import { servers } from '../servers.ts';
import { headersOf, legacy, meta, modern, replied, Stage, textOf, version } from './stage.ts';

const S = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"tandem-rpc","version":"0.1.0"}}`;

for (const transport of servers) {
  describe(`MCP on ${transport}`, () => {
    const lifetime = suiteLifetime();
    let stage: Stage;
    before(async () => {
      stage = await Stage.start(lifetime, { transport, maxBatch: 4 });
    });

    test('answers to the letter', async () => {
      const transcript = [
        [
          'server/discover',
          {},
          `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["${version}"],"capabilities":{"tools":{}},"ttlMs":60000,"cacheScope":"public",${S}}}`,
        ],
        [
          'tools/call',
          { name: 'math_add', arguments: { a: 1, b: 2 } },
          `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"3"}],"structuredContent":3,${S}}}`,
        ],
      ] as const;
      for (const [method, params, expected] of transcript) {
        const response = await stage.ask(method, params);
        assert.equal(response.status, 200);
        assert.equal(response.body.toString(), expected);
      }
      const listed = (await stage.ask('tools/list')).body.toString();
      const first =
        '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"math_add","title":"math.add","description":"Adds two numbers.","inputSchema":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false},"outputSchema":{"type":"number"},"annotations":{"readOnlyHint":true,"openWorldHint":false}},';
      assert.equal(listed.slice(0, first.length), first);
      const last = `],"ttlMs":60000,"cacheScope":"public",${S}}}`;
      assert.equal(listed.slice(-last.length), last);
    });

    test('what a call comes to is a result, validation included', async () => {
      const cases = [
        ['math.divide', { a: 1, b: 4 }, false, '0.25'],
        ['math.sum', { a: 1, b: 4 }, false, '5'],
        ['math_divide', { a: 1, b: 0 }, true, 'Division by zero (1001)\n{"dividend":1}'],
        ['math_divide', { a: 1, b: 'x' }, true, 'Invalid arguments:\n- /b: must be number'],
        ['math_sum', { a: 1, b: 'x' }, true, 'Invalid arguments:\n- /b: must be number'],
        ['slow', undefined, true, 'Deadline exceeded (-32001)\n{"timeoutMs":50}'],
        ['anything', { x: [1] }, false, '{"x":[1]}'],
        ['users_get', { id: 'u' }, false, '{"id":"u","tags":["a\\"b","é\\\\"]}'],
      ] as const;
      for (const [name, given, isError, text] of cases) {
        const result = await stage.call(name, given);
        assert.equal(textOf(result), text);
        assert.equal(result.isError ?? false, isError, name);
        assert.equal(result.resultType, 'complete');
      }
      const fault = await stage.call('fails');
      assert.match(textOf(fault), /^Internal error \(-32603\)\n\{"ref":"[\w-]+"\}$/);
      const { structuredContent } = await stage.call('users_get', { id: 'u' });
      assert.deepEqual(structuredContent, { id: 'u', tags: ['a"b', 'é\\'] });
      // Nothing is declared: there is no schema that a value could be held to.
      assert.equal('structuredContent' in (await stage.call('anything', {})), false);
    });

    test('content that a handler gives itself', async () => {
      const result = await stage.call('picture');
      assert.deepEqual(result.content, [
        { type: 'text', text: 'a dot' },
        { type: 'image', data: 'AQID', mimeType: 'image/png' },
      ]);
      assert.equal(JSON.stringify(result).includes('secret'), false);
      assert.equal((await stage.call('broken_picture')).isError, true);
    });

    test('faults of the protocol are errors with a status of their own', async () => {
      const without = (...names: string[]): object =>
        Object.fromEntries(Object.entries(meta).filter(([name]) => !names.includes(name)));
      const list = (own: object): string =>
        JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list', params: { _meta: own } });
      const [versionName = '', capabilities = ''] = Object.keys(meta);
      const call = modern('tools/call', { name: 'math_add', arguments: {} }, 7);
      const cases: [string, Record<string, string | undefined>, number, number, unknown?][] = [
        [modern('nope', {}, 7), {}, 404, -32601, { method: 'nope' }],
        [modern('initialize', {}, 7), {}, 404, -32601, { method: 'initialize' }],
        [list(without(versionName)), {}, 400, -32602],
        [list(without(capabilities)), {}, 400, -32602],
        [list({}), {}, 400, -32602],
        [call, { 'mcp-method': undefined }, 400, -32020],
        [call, { 'mcp-method': 'Tools/call' }, 400, -32020],
        [call, { 'mcp-name': undefined }, 400, -32020],
        [call, { 'mcp-name': 'math_sum' }, 400, -32020],
        [call, { 'mcp-protocol-version': undefined }, 400, -32020],
        [call, { 'mcp-protocol-version': '2025-11-25' }, 400, -32020],
        [
          list({ ...meta, [versionName]: '1900-01-01' }),
          { 'mcp-protocol-version': '1900-01-01' },
          400,
          -32022,
          { supported: [version], requested: '1900-01-01' },
        ],
        [modern('tools/call', { name: 'nope' }, 7), {}, 200, -32602],
        [modern('tools/call', { name: 'math_add', arguments: [1] }, 7), {}, 200, -32602],
        [modern('tools/list', { cursor: 'x' }, 7), {}, 200, -32602],
        [modern('tools/list', { cursor: '500' }, 7), {}, 200, -32602],
      ];
      for (const [body, headers, status, code, data] of cases) {
        const response = await stage.send(body, { ...headersOf(body), ...headers });
        const { id, error } = replied(response);
        assert.deepEqual([response.status, error?.code, id], [status, code, 7], body);
        if (data !== undefined) assert.deepEqual(error?.data, data);
      }
      const unknown = await stage.ask('tools/call', { name: 'math_divid' });
      assert.equal(
        replied(unknown).error?.message,
        'Unknown tool: math_divid; did you mean math_divide?',
      );
    });

    test('a name may be encoded in its header, and blanks around it count for nothing', async () => {
      for (const name of ['=?base64?bWF0aC5hZGQ=?=', '  math.add  ']) {
        const params = { name: 'math.add', arguments: { a: 1, b: 2 } };
        const response = await stage.ask('tools/call', params, { 'mcp-name': name });
        assert.equal(response.status, 200, name);
      }
    });

    test('an id that is not known is left out', async () => {
      const cases: [string | Uint8Array, number][] = [
        ['{', -32700],
        [Buffer.from([0x22, 0xff, 0x22]), -32700],
        [
          `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(100)}${']'.repeat(100)}}`,
          -32700,
        ],
        ['[]', -32600],
        ['7', -32600],
        ['{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
        ['{"jsonrpc":"2.0","result":{}}', -32600],
        ['{"method":"ping"}', -32600],
      ];
      for (const [body, code] of cases) {
        const response = await stage.send(body);
        const reply = replied(response);
        assert.deepEqual([response.status, reply.error?.code], [400, code], String(body));
        assert.equal('id' in reply, false);
      }
      const known = await stage.send('{"id":3,"method":"ping"}');
      assert.equal(replied(known).id, 3);
      const twice = await stage.send(
        '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","name":"b"}}',
      );
      assert.deepEqual([twice.status, replied(twice).id], [400, 4]);
    });

    test('other methods of HTTP', async () => {
      const host = 'Host: localhost\r\n\r\n';
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const response = await stage.client.ask(`${method} /mcp HTTP/1.1\r\n${host}`);
        assert.equal(response.status, 405);
        assert.equal(header(response, 'allow'), 'POST, OPTIONS');
      }
      const preflight = await stage.client.ask(`OPTIONS /mcp HTTP/1.1\r\n${host}`);
      assert.equal(preflight.status, 204);
      assert.match(header(preflight, 'access-control-allow-headers') ?? '', /mcp-protocol-version/);
    });

    test('legacy clients: a handshake that keeps nothing, and results without what they do not know', async () => {
      const ask = async (body: string, headers = {}): Promise<unknown> => {
        const response = await stage.send(body, headers);
        assert.equal(response.status, 200);
        return JSON.parse(response.body.toString());
      };
      for (const [asked, agreed] of [
        ['2025-06-18', '2025-06-18'],
        ['2024-11-05', '2024-11-05'],
        ['1999-01-01', '2025-11-25'],
        [version, '2025-11-25'],
      ]) {
        assert.deepEqual(await ask(legacy('initialize', { protocolVersion: asked })), {
          jsonrpc: '2.0',
          id: 1,
          result: {
            protocolVersion: agreed,
            capabilities: { tools: {} },
            serverInfo: { name: 'tandem-rpc', version: '0.1.0' },
          },
        });
      }
      const taken = await stage.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
      assert.deepEqual([taken.status, taken.body.length], [202, 0]);
      assert.deepEqual(await ask(legacy('ping')), { jsonrpc: '2.0', id: 1, result: {} });
      // Its params have no `_meta`, so the body says nothing of a version.
      const call = legacy('tools/call', { name: 'math_add', arguments: { a: 1, b: 2 } }, 'x');
      assert.deepEqual(await ask(call, { 'mcp-protocol-version': '2025-06-18' }), {
        jsonrpc: '2.0',
        id: 'x',
        result: { content: [{ type: 'text', text: '3' }], structuredContent: { result: 3 } },
      });
      const { result } = (await ask(
        legacy('tools/call', { name: 'users.get', arguments: { id: 'u' } }),
      )) as { result: object };
      assert.deepEqual(Object.keys(result), ['content', 'structuredContent']);
      const listed = (await ask(legacy('tools/list'))) as {
        result: { tools: { name: string; outputSchema: object }[] };
      };
      assert.deepEqual(Object.keys(listed.result), ['tools']);
      const schemas = new Map(
        listed.result.tools.map(({ name, outputSchema }) => [name, outputSchema]),
      );
      assert.deepEqual(schemas.get('math_add'), {
        type: 'object',
        properties: { result: { type: 'number' } },
        required: ['result'],
      });
      const { error } = (await ask(legacy('resources/list'))) as { error: { code: number } };
      assert.equal(error.code, -32601);
      const unsupported = await stage.send(legacy('ping'), {
        'mcp-protocol-version': '1999-01-01',
      });
      assert.equal(unsupported.status, 400);
    });

    test('batches of the version that has them', async () => {
      const batch = `[${[
        legacy('tools/call', { name: 'math_sum', arguments: { a: 1, b: 2 } }, 1),
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"id":2}',
        legacy('tools/list', { cursor: 'x' }, 3),
      ].join(',')}]`;
      for (const headers of [{}, { 'mcp-protocol-version': '2025-03-26' }]) {
        const response = await stage.send(batch, headers);
        const replies = JSON.parse(response.body.toString()) as { id: unknown; error?: object }[];
        assert.deepEqual(
          replies.map(({ id, error }) => [id, error === undefined]),
          [
            [1, true],
            [2, false],
            [3, false],
          ],
        );
      }
      const newer = await stage.send(batch, { 'mcp-protocol-version': '2025-06-18' });
      assert.equal(newer.status, 400);
      const notes = await stage.send('[{"jsonrpc":"2.0","method":"notifications/initialized"}]');
      assert.equal(notes.status, 202);
      const long = await stage.send(`[${Array(5).fill(legacy('ping')).join(',')}]`);
      assert.deepEqual([long.status, replied(long).error?.code], [400, -32600]);
      const mixed = await stage.send(`[${modern('server/discover')}]`);
      assert.match(mixed.body.toString(), /has no batches/);
    });
  });
}
