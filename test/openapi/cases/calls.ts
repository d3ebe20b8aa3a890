import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Cases 14 to 20 and 29. */
export const calls: readonly HttpCase[] = [
  {
    title: '14: POST takes the params as JSON',
    async run(site) {
      assert.equal(jsonOf(await site.post('math.add', '{"a":1,"b":2}')), 3);
      const typed = { 'content-type': 'application/json; charset=UTF-8' };
      assert.equal(jsonOf(await site.post('math.add', ' {"a":1}\n', typed)), 2);
      assert.deepEqual(jsonOf(await site.post('echo', '')), {});
    },
  },
  {
    title: '15: an array, what is no JSON, and a query beside the body are 400',
    async run(site) {
      assert.equal(problemOf(await site.post('math.add', '[1,2]'), 400).code, -32600);
      assert.equal(problemOf(await site.post('math.add', '{'), 400).code, -32700);
      assert.equal(problemOf(await site.post('math.add?a=1', '{}'), 400).code, -32600);
    },
  },
  {
    title: '16: params that break out of their place are 400, and nothing has run',
    async run(site) {
      const before = await site.seen();
      for (const body of [
        '{"a":1},"method":"reset"',
        '{"a":1},"x":1',
        '{"a":1}}',
        '{},"method":"reset","params":{}',
      ]) {
        assert.equal(problemOf(await site.post('math.add', body), 400).code, -32700, body);
      }
      assert.deepEqual(await site.seen(), before);
    },
  },
  {
    title: '17: types that pages send without asking are 415, which names those that are taken',
    async run(site) {
      const before = await site.seen();
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'text/plain; application/json',
        'application/json-rpc',
        'application/json; charset=latin1',
      ];
      for (const type of types) {
        const response = await site.post('save', '{"name":"x"}', { 'content-type': type });
        problemOf(response, 415);
        assert.equal(header(response, 'accept-post'), 'application/json', type);
      }
      // A body without a type.
      problemOf(await site.ask('POST', '/api/save', {}, '{"name":"x"}'), 415);
      assert.deepEqual(await site.seen(), before);
    },
  },
  {
    title: '18: a method that is not taken is 405, which names those that are',
    async run(site) {
      const before = await site.seen();
      for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
        const response = await site.ask(method, '/api/save?name=x');
        assert.equal(response.status, 405, method);
        assert.equal(header(response, 'allow'), 'POST, OPTIONS', method);
      }
      const put = await site.ask('PUT', '/api/math.add', {}, '{}');
      problemOf(put, 405);
      assert.equal(header(put, 'allow'), 'GET, HEAD, POST, OPTIONS');
      assert.deepEqual(await site.seen(), before);
    },
  },
  {
    title:
      '19: HEAD is GET without its body; OPTIONS has the methods and what a preflight asks for',
    async run(site) {
      const head = await site.ask('HEAD', '/api/math.add?a=1');
      assert.equal(head.status, 200);
      assert.equal(header(head, 'content-type'), 'application/json');
      assert.equal(header(head, 'content-length'), '1');
      assert.equal((await site.ask('HEAD', '/api/math.add?a=x')).status, 400);
      assert.equal((await site.ask('HEAD', '/api/a/b:c')).status, 204);
      const options = await site.ask('OPTIONS', '/api/save');
      assert.equal(options.status, 204);
      assert.equal(header(options, 'allow'), 'POST, OPTIONS');
      assert.equal(header(options, 'access-control-allow-methods'), 'POST, OPTIONS');
      assert.match(header(options, 'access-control-allow-headers') ?? '', /\bif-none-match\b/);
      assert.equal(
        header(options, 'access-control-expose-headers'),
        'etag, retry-after, ratelimit, ratelimit-policy',
      );
      assert.equal(header(options, 'access-control-allow-origin'), '*');
      // The connection goes on.
      assert.equal(jsonOf(await site.get('math.add?a=1')), 2);
    },
  },
  {
    title: '20: a result that is nothing is 204 without a type',
    async run(site) {
      const response = await site.post('save', '{"name":"twenty"}');
      assert.equal(response.status, 204);
      assert.equal(header(response, 'content-type'), undefined);
      assert.equal(header(response, 'cache-control'), 'no-store');
      assert.equal((await site.seen()).at(-1), 'save twenty');
    },
  },
  {
    title: '29: the name stands in the path, decoded once; no other path is a procedure',
    async run(site) {
      assert.equal((await site.get('a/b:c')).status, 204);
      assert.equal((await site.get('a%2Fb%3Ac')).status, 204);
      for (const path of ['math.add/', 'Math.add', '', 'a%252Fb:c', 'a//b:c', 'rpc.discover']) {
        const { code } = problemOf(await site.get(path), 404);
        assert.equal(code, -32601, path);
      }
      const { data } = problemOf(await site.get('math.ad'), 404);
      assert.deepEqual(data, { method: 'math.ad', didYouMean: 'math.add' });
      // Some frameworks answer this themselves.
      assert.equal((await site.get('%zz')).status, 400);
    },
  },
];
