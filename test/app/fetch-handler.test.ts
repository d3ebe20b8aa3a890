/** docs/mounting.md, "A Request and a Response". test/transports has what holds of every transport, over Hono. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { RpcError, StartupError } from '../../src/index.ts';
import { makeApp } from '../harness.ts';
import { procedures } from './hooks/serve.ts';

const url = 'http://example.test/any/route';
const jsonType = { 'content-type': 'application/json' };
const call = (method: string, headers: Record<string, string> = {}): Request =>
  new Request(url, {
    method: 'POST',
    headers: { ...jsonType, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
  });

interface Reply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly data: { readonly reason: string } };
}
const replyOf = async (response: Response): Promise<Reply> => (await response.json()) as Reply;

describe('fetchHandler', () => {
  const { app } = makeApp({ after }, { modules: [procedures] });
  const handler = app.fetchHandler({
    auth({ headers }) {
      const user = headers.get('x-user');
      if (user === null) throw new RpcError(4010, 'Sign in');
      return { user };
    },
  });

  it('starts nothing before the first request', () => {
    assert.equal(app.dispatcher.state, 'starting');
    assert.equal(app.dispatcher.stats().pool, undefined);
  });

  it('asks auth, which gets the request of the framework', async () => {
    const refused = await handler(call('who.worker'));
    assert.equal(refused.status, 200);
    assert.equal((await replyOf(refused)).error?.code, 4010);
    const answer = await handler(call('who.worker', { 'x-user': 'ann' }));
    assert.equal(answer.headers.get('content-type'), 'application/json');
    assert.deepEqual((await replyOf(answer)).result, { user: 'ann' });
  });

  it('refuses a content type that a page of another origin may send', async () => {
    const { status } = await handler(
      call('who.worker', { 'content-type': 'text/plain', 'x-user': 'ann' }),
    );
    assert.equal(status, 415);
  });

  it('limits a body by what comes, whatever length is announced', async () => {
    const { app } = makeApp({ after }, { modules: [procedures], maxBodyBytes: 1024 });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(2000) });
    const headers = { ...jsonType, 'content-length': '10' };
    const { status } = await app.fetchHandler()(
      new Request(url, { method: 'POST', headers, body }),
    );
    assert.equal(status, 413);
  });

  it('says that the body was read before', async () => {
    const request = call('who.worker', { 'x-user': 'ann' });
    await request.text();
    const answer = await handler(request);
    assert.equal(answer.status, 500);
    assert.match((await replyOf(answer)).error?.data.reason ?? '', /the body was read before/);
  });

  it('cancels the call if the request is aborted', async () => {
    const leaves = new AbortController();
    const asked = handler(
      new Request(call('who.worker', { 'x-user': 'ann' }), { signal: leaves.signal }),
    );
    leaves.abort();
    assert.equal((await asked).status, 499);
  });

  it('refuses an option that it does not have', () => {
    // @ts-expect-error the option of a server is not that of a mount
    assert.throws(() => app.fetchHandler({ authenticate: () => 'ann' }), StartupError);
    // @ts-expect-error a hook is a function
    assert.throws(() => app.fetchHandler({ auth: 'ann' }), /fetchHandler: option auth/);
  });
});
