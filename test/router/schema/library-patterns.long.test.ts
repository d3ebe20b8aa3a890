/** Patterns are read with the flag `u`, as JSON Schema says; those of other libraries are, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { getProcedureSchema, procedure, Router } from '../../../src/index.ts';

const texts = {
  zod: [
    z.email(),
    z.uuid(),
    z.uuidv7(),
    z.guid(),
    z.url(),
    z.httpUrl(),
    z.emoji(),
    z.base64(),
    z.base64url(),
    z.nanoid(),
    z.cuid(),
    z.cuid2(),
    z.ulid(),
    z.xid(),
    z.ksuid(),
    z.mac(),
    z.ipv4(),
    z.ipv6(),
    z.cidrv4(),
    z.cidrv6(),
    z.e164(),
    z.jwt(),
    z.creditCard(),
    z.iban(),
    z.currencyCode(),
    z.hex(),
    z.hash('sha256'),
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
    z.email({ pattern: z.regexes.html5Email }),
    z.email({ pattern: z.regexes.unicodeEmail }),
    z.email({ pattern: z.regexes.rfc5322Email }),
  ].map((text) => z.object({ text })),
  valibot: [
    v.email(),
    v.rfcEmail(),
    v.uuid(),
    v.url(),
    v.domain(),
    v.base64(),
    v.nanoid(),
    v.cuid2(),
    v.ulid(),
    v.ksuid(),
    v.ipv4(),
    v.ipv6(),
    v.ip(),
    v.mac(),
    v.mac48(),
    v.mac64(),
    v.bic(),
    v.isrc(),
    v.creditCard(),
    v.decimal(),
    v.digits(),
    v.hash(['md5', 'sha256']),
    v.hexColor(),
    v.hexadecimal(),
    v.imei(),
    v.isoDate(),
    v.isoDateTime(),
    v.isoTime(),
    v.isoTimeSecond(),
    v.isoTimestamp(),
    v.isoWeek(),
    v.jwsCompact(),
    v.octal(),
    v.slug(),
    v.startsWith('a.'),
    v.endsWith('a-'),
    v.includes('a b'),
    v.regex(/^-[\w\-.] $/),
  ].map((action) =>
    toStandardJsonSchema(
      v.object({ text: v.pipe(v.string(), action as ReturnType<typeof v.email>) }),
    ),
  ),
  arktype: (
    [
      'string.email',
      'string.uuid',
      'string.uuid.v4',
      'string.url',
      'string.date.iso',
      'string.date.epoch',
      'string.semver',
      'string.ip',
      'string.ip.v4',
      'string.ip.v6',
      'string.hex',
      'string.base64',
      'string.base64.url',
      'string.creditCard',
      'string.integer',
      'string.numeric',
      'string.digits',
      'string.alpha',
      'string.alphanumeric',
      'string.lower',
      'string.upper',
      'string.trim.preformatted',
      'string.capitalize.preformatted',
      '/^[\\w-.]\\-+$/',
    ] as const
  ).map((text) => type({ text: text as 'string' })),
};

for (const [library, schemas] of Object.entries(texts)) {
  test(`every format of ${library} registers, and none gets a maxLength`, () => {
    for (const params of schemas) {
      const [text] = getProcedureSchema(procedure({ name: 'p', params }, () => null)).parameters;
      // Its strings may be as long as the library lets them be.
      assert.equal(text!.schema_.maxLength, undefined, JSON.stringify(text));
    }
  });
}

test('the emoji of valibot, whose expression doubles its steps with each emoji, needs a maxLength', () => {
  const emoji = (...most: readonly number[]): void => {
    const limits = most.map((length) => v.maxLength<string, number>(length));
    const text = v.pipe(v.string(), v.emoji(), ...limits);
    new Router().rpc({ name: 'p', params: toStandardJsonSchema(v.object({ text })) }, () => null);
  };
  assert.throws(() => emoji(), /at \/text: the pattern .* backtracks/);
  assert.throws(() => emoji(100), /backtracks/);
  assert.doesNotThrow(() => emoji(7));
});
