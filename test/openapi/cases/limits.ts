import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Case 31. */
export const limits: readonly HttpCase[] = [
  {
    title: '31: a call that is slower than its caller waits is 504',
    async run(site) {
      const slow = await site.get('slow', { 'rpc-timeout-ms': '1' });
      assert.equal(problemOf(slow, 504).code, -32001);
      problemOf(await site.get('math.add?a=1', { 'rpc-timeout-ms': 'x' }), 400);
    },
  },
  {
    title: '31: a caller above its rate gets 429, and when to come back',
    on: 'limited',
    async run(site) {
      const first = await site.get('math.add?a=1');
      assert.equal(jsonOf(first), 2);
      assert.equal(header(first, 'ratelimit'), '"default";r=0;t=1000');
      const second = await site.get('math.add?a=1');
      const { code, data } = problemOf(second, 429);
      assert.equal(code, -32000);
      assert.equal((data as { reason: string }).reason, 'rate');
      assert.equal(header(second, 'retry-after'), '2');
      assert.equal(header(second, 'ratelimit'), '"default";r=0;t=1000');
      assert.equal(header(second, 'ratelimit-policy'), '"default";q=1;w=1');
    },
  },
];
