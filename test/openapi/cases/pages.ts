import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { jsonOf, problemOf, type Site } from '../site.ts';
import type { HttpCase } from './case.ts';

const evil = { origin: 'https://evil.example' };
const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };

/** How often `reset` has run. */
async function resets(site: Site): Promise<number> {
  return (await site.seen()).filter((line) => line === 'reset').length;
}

/** Cases 25 and 26: what pages of other origins may do. */
export const pages: readonly HttpCase[] = [
  {
    title: '25: a POST without a body and a type runs for programs and pages of this machine alone',
    async run(site) {
      const before = await resets(site);
      const reset = (headers = {}) => site.ask('POST', '/api/reset', headers);
      assert.equal((await reset()).status, 204);
      assert.equal((await reset({ 'content-length': '0' })).status, 204);
      assert.equal((await reset({ origin: 'http://localhost:5173' })).status, 204);
      // `*` lets pages call, but none that nobody has asked about.
      for (const origin of ['https://evil.example', 'null', 'file://']) {
        const { detail } = problemOf(await reset({ origin }), 403);
        assert.match(detail ?? '', /content-type: application\/json/);
      }
      assert.equal((await site.post('reset', '{}', evil)).status, 204);
      assert.equal(await resets(site), before + 4);
    },
  },
  {
    title: '25: and for pages of the origins that are listed',
    on: 'listed',
    async run(site) {
      const before = await resets(site);
      const listed = { origin: 'https://friend.example' };
      const allowed = await site.ask('POST', '/api/reset', listed);
      assert.equal(allowed.status, 204);
      assert.equal(header(allowed, 'access-control-allow-origin'), 'https://friend.example');
      problemOf(await site.ask('POST', '/api/reset', evil), 403);
      problemOf(
        await site.ask('POST', '/api/reset', { origin: 'https://friend.example.evil' }),
        403,
      );
      assert.equal(await resets(site), before + 1);
    },
  },
  {
    title: '26: a link on another site calls nothing for who is logged in',
    on: 'asking',
    async run(site) {
      const ann = { 'x-token': 'ann' };
      problemOf(await site.get('math.add?a=1', { ...ann, ...visit }), 403);
      problemOf(await site.get('unknown', { ...ann, ...visit }), 404);
      assert.equal(jsonOf(await site.get('math.add?a=1', { ...ann, 'sec-fetch-site': 'none' })), 2);
      const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
      assert.equal(jsonOf(await site.get('math.add?a=1', { ...ann, ...image })), 2);
    },
  },
  {
    title: '26: where nobody is logged in, a link is a request like others',
    run: async (site) => assert.equal(jsonOf(await site.get('math.add?a=1', visit)), 2),
  },
];
