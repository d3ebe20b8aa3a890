/** Patterns are read with the flag `u`, as JSON Schema says; those of other libraries are, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { RegistrationError, Router, Type } from '../../../src/index.ts';
import { run } from '../run.ts';

const texts = {
  zod: [
    z.email(),
    z.uuid(),
    z.guid(),
    z.url(),
    z.emoji(),
    z.base64(),
    z.base64url(),
    z.nanoid(),
    z.cuid(),
    z.cuid2(),
    z.ulid(),
    z.xid(),
    z.ksuid(),
    z.ipv4(),
    z.ipv6(),
    z.cidrv4(),
    z.cidrv6(),
    z.e164(),
    z.jwt(),
    z.hostname(),
    z.iso.date(),
    z.iso.time(),
    z.iso.datetime(),
    z.iso.duration(),
    z.string().startsWith('a'),
    z.string().endsWith('a'),
    z.string().includes('a'),
    z.string().lowercase(),
    z.string().uppercase(),
    z.string().regex(/^[\w\-@]+-$/),
  ].map((text) => z.object({ text })),
  valibot: [
    v.email(),
    v.uuid(),
    v.url(),

    v.base64(),
    v.nanoid(),
    v.cuid2(),
    v.ulid(),
    v.ipv4(),
    v.ipv6(),
    v.ip(),
    v.mac(),
    v.bic(),
    v.creditCard(),
    v.decimal(),
    v.digits(),
    v.hexColor(),
    v.hexadecimal(),
    v.imei(),
    v.isoDate(),
    v.isoDateTime(),
    v.isoTime(),
    v.isoTimestamp(),
    v.isoWeek(),
    v.octal(),
    v.slug(),
  ].map((action) =>
    toStandardJsonSchema(
      v.object({ text: v.pipe(v.string(), action as ReturnType<typeof v.email>) }),
    ),
  ),
  arktype: (
    [
      'string.email',
      'string.uuid',
      'string.url',
      'string.date.iso',
      'string.semver',
      'string.ip',
      'string.hex',
      'string.base64',
      'string.creditCard',
      'string.digits',
      'string.alpha',
      'string.alphanumeric',
      'string.lower',
      'string.upper',
    ] as const
  ).map((text) => type({ text: text as 'string' })),
};

for (const [library, schemas] of Object.entries(texts)) {
  test(`every format of ${library} registers`, () => {
    for (const params of schemas)
      assert.doesNotThrow(() => new Router().rpc({ name: 'p', params }, () => null));
  });
}

test('a class of Unicode is one, and an escape that is not needed is refused with what to write', async () => {
  const router = new Router();
  router.rpc(
    { name: 'name', params: { it: Type.String({ pattern: '^\\p{L}+$', maxLength: 64 }) } },
    () => null,
  );
  assert.equal((await run(router, 'name', { it: 'Ana' })).code, 0);
  assert.equal((await run(router, 'name', { it: 'p{L}' })).code, -32602);
  const pattern = '^\\-$';
  for (const it of [
    Type.String({ pattern }),
    Type.String({ pattern, enum: ['-'] }),
    Type.Record(Type.String({ pattern }), Type.Null()),
  ])
    assert.throws(
      () => router.rpc({ name: 'p', params: { it } }, () => null),
      (error) =>
        error instanceof RegistrationError &&
        error.message.startsWith(
          'procedure "p": params at /it: the pattern "^\\\\-$" is no regular expression with the flag u',
        ) &&
        error.message.endsWith('; write "^-$"'),
    );
});
