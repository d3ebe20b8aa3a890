import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { issueOf, jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Case 30. */
export const streams: readonly HttpCase[] = [
  {
    title: '30: a stream is events, whose last one is its result, or its end',
    async run(site) {
      const ticks = [
        ['', 1],
        ['', 2],
        ['result', 'end'],
      ];
      for (const accept of [
        '*/*',
        'text/*',
        'text/event-stream',
        'application/problem+json',
        'text/html, */*;q=0.1',
      ]) {
        assert.deepEqual(await site.events('ticks?n=2', { headers: { accept } }), ticks, accept);
      }
      assert.deepEqual(
        await site.events('ticks', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"n":2}',
        }),
        ticks,
      );
      assert.deepEqual(await site.events('beats?n=1'), [
        ['', 1],
        ['end', null],
      ]);
      assert.deepEqual(await site.events('beats?n=0'), [['end', null]]);
    },
  },
  {
    title: '30: an error after the first value is the last event: a problem',
    async run(site) {
      assert.deepEqual(await site.events('ticks?n=2&failing=true'), [
        ['', 1],
        [
          'error',
          {
            type: 'about:blank',
            title: 'Stopped',
            status: 422,
            code: 4010,
            data: { after: 1 },
          },
        ],
      ]);
    },
  },
  {
    title: '30: an error before it is a problem, and there is no stream',
    async run(site) {
      assert.equal(issueOf(await site.get('ticks?n=x')).path, '/n');
      for (const accept of [
        'application/jsonl',
        'application/json',
        'text/html',
        'text/event-stream;q=0, */*',
      ]) {
        assert.equal(problemOf(await site.get('ticks?n=2', { accept }), 406).code, -32601, accept);
      }
    },
  },
  {
    title: '30: HEAD of a stream has its status and its type, and nothing is produced',
    async run(site) {
      const head = await site.ask('HEAD', '/api/ticks?n=2');
      assert.equal(head.status, 200);
      assert.equal(header(head, 'content-type'), 'text/event-stream');
      assert.equal((await site.ask('HEAD', '/api/ticks?n=x')).status, 400);
      assert.equal(jsonOf(await site.get('math.add?a=1')), 2);
    },
  },
  {
    title: '30: a stream that may be gathered is JSON, and events where they are named',
    async run(site) {
      assert.deepEqual(jsonOf(await site.get('gathered?n=2')), [1, 2]);
      assert.deepEqual(jsonOf(await site.get('gathered?n=2', { accept: '*/*' })), [1, 2]);
      assert.deepEqual(
        await site.events('gathered?n=2', { headers: { accept: 'text/event-stream' } }),
        [
          ['', 1],
          ['', 2],
          ['end', null],
        ],
      );
    },
  },
];
