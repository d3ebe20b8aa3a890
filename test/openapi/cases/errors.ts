import assert from 'node:assert/strict';
import { header } from '../../http/raw-client.ts';
import { problemOf } from '../site.ts';
import type { HttpCase } from './case.ts';

/** Cases 21 to 24. */
export const errors: readonly HttpCase[] = [
  {
    title: '21: a declared error has its status, its code, its name and its data',
    async run(site) {
      const ask = (name: string) => site.post('save', JSON.stringify({ name }));
      assert.deepEqual(problemOf(await ask('taken'), 422), {
        type: 'about:blank',
        title: 'Taken',
        status: 422,
        code: 4009,
        name: 'Taken',
        data: { by: 'ann' },
      });
      assert.equal(problemOf(await ask('taken-409'), 409).code, 4010);
      assert.equal(problemOf(await ask('gone'), 410).code, 410);
    },
  },
  {
    title: '22: a code that is a status is one, unless it is about the connection',
    async run(site) {
      const unauthorized = await site.get('throws?code=401');
      problemOf(unauthorized, 401);
      assert.equal(header(unauthorized, 'www-authenticate'), 'Bearer');
      assert.equal(problemOf(await site.get('throws?code=408'), 422).code, 408);
      assert.equal(problemOf(await site.get('throws?code=418'), 418).title, 'Refused');
      // A status without a name.
      assert.equal(problemOf(await site.get('throws?code=499'), 499).code, 499);
    },
  },
  {
    title: '23: an error that is nobody’s contract is 500 with a ref, and says nothing of itself',
    async run(site) {
      const response = await site.get('throws?code=0');
      const { code, data } = problemOf(response, 500);
      assert.equal(code, -32603);
      assert.match((data as { ref: string }).ref, /^[\w-]+$/);
      assert.doesNotMatch(response.body.toString(), /secret/);
    },
  },
  {
    title: '24: who is refused gets 401 or 403, and no body is parsed before',
    on: 'asking',
    async run(site) {
      const ask = (token: string) => site.post('save', '{', { 'x-token': token });
      const unknown = await ask('none');
      assert.deepEqual(problemOf(unknown, 401), {
        type: 'about:blank',
        title: 'Log in',
        status: 401,
        code: 4010,
      });
      assert.equal(header(unknown, 'www-authenticate'), 'Bearer');
      assert.equal(problemOf(await ask('forbidden'), 403).code, 403);
      const broken = await ask('broken');
      problemOf(broken, 500);
      assert.doesNotMatch(broken.body.toString(), /secret/);
      assert.equal(problemOf(await ask('ann'), 400).code, -32700);
      problemOf(await site.get('math.add?a=1'), 401);
      // Names are told to those who may call.
      assert.doesNotMatch((await site.get('math.ad')).body.toString(), /math\.add/);
      const near = problemOf(await site.get('math.ad', { 'x-token': 'ann' }), 404);
      assert.deepEqual(near.data, { method: 'math.ad', didYouMean: 'math.add' });
      // A preflight says nothing of who calls.
      assert.equal((await site.ask('OPTIONS', '/api/save')).status, 204);
      const unknownPath = await site.ask('OPTIONS', '/api/sav');
      assert.equal(unknownPath.status, 404);
      assert.doesNotMatch(unknownPath.body.toString(), /"save"/);
    },
  },
];
