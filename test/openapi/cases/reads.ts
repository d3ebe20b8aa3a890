import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { issueOf, jsonOf, problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** What a query of `echo` becomes. */
const echoed: readonly (readonly [query: string, params: object])[] = [
  ['s=5', { s: '5' }],
  ['s=', { s: '' }],
  ['sn=5', { sn: '5' }],
  ['any=5', { any: '5' }],
  ['f=true', { f: true }],
  ['tags=a', { tags: ['a'] }],
  ['tags=a&tags=b%2Cc', { tags: ['a', 'b,c'] }],
  ['ids=1&ids=2', { ids: [1, 2] }],
  ['ids=%5B1,2%5D', { ids: [1, 2] }],
  ['nn=null', { nn: null }],
  ['nn=5', { nn: 5 }],
  ['lit=1', { lit: 1 }],
  ['mix=true', { mix: true }],
  ['mix=1', { mix: 1 }],
  ['near=%7B%22lat%22:1%7D', { near: { lat: 1 } }],
  ['at=2026-01-01T00:00:00%2B02:00', { at: '2026-01-01T00:00:00+02:00' }],
];

/** What a query of `echo` is refused for. */
const refused: readonly (readonly [query: string, path: string])[] = [
  ['f=1', '/f'],
  ['f=TRUE', '/f'],
  ['f=', '/f'],
  ['ids=1,2', '/ids/0'],
  ['near%5Blat%5D=1', '/near[lat]'],
  // A plus sign that is not encoded is a blank.
  ['at=2026-01-01T00:00:00+02:00', '/at'],
  ['__proto__=1', '/__proto__'],
];

/** Cases 1 to 13. */
export const reads: readonly HttpCase[] = [
  {
    title: '1: GET takes the query as params and answers the result as JSON that nobody keeps',
    async run(site) {
      const response = await site.get('math.add?a=1&b=2');
      assert.equal(jsonOf(response), 3);
      assert.equal(header(response, 'cache-control'), 'no-store');
      assert.equal(header(response, 'x-content-type-options'), 'nosniff');
    },
  },
  {
    title: '2: a param that is absent has its default',
    run: async (site) => assert.equal(jsonOf(await site.get('math.add?a=1')), 2),
  },
  {
    title: '3: a missing param is 400 with its path',
    run: async (site) => assert.equal(issueOf(await site.get('math.add')).path, '/a'),
  },
  {
    title: '4: a text that is no number of JSON is refused as a string',
    async run(site) {
      for (const text of ['1x', '', '%2B1', '0x10', 'Infinity']) {
        const { path, received } = issueOf(await site.get(`math.add?a=${text}`));
        assert.deepEqual([path, received], ['/a', 'string'], text);
      }
    },
  },
  {
    title: '5: numbers are those of JSON',
    run: async (site) => assert.equal(jsonOf(await site.get('math.add?a=1e3&b=-0.5')), 999.5),
  },
  {
    title: '6: a param that takes one value and comes twice is 400 with its name',
    async run(site) {
      const { code, detail } = problemOf(await site.get('math.add?a=1&a=2'), 400);
      assert.equal(code, -32600);
      assert.match(detail ?? '', /"a"/);
    },
  },
  {
    title: '7: a param that nobody declared is 400 with its path',
    run: async (site) => assert.equal(issueOf(await site.get('math.add?a=1&zz=1')).path, '/zz'),
  },
  {
    title: '8 to 13: texts become what the schema of their param allows',
    async run(site) {
      for (const [query, params] of echoed) {
        assert.deepEqual(jsonOf(await site.get(`echo?${query}`)), params, query);
      }
    },
  },
  {
    title: '7 to 13: other texts are refused with the path of their param',
    async run(site) {
      for (const [query, path] of refused) {
        assert.equal(issueOf(await site.get(`echo?${query}`)).path, path, query);
      }
    },
  },
];
