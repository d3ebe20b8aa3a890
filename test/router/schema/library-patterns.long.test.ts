/** Patterns are read with the flag `u`, as JSON Schema says; those of other libraries are, too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import { getProcedureSchema, procedure, Router } from '../../../src/index.ts';

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Functions of a library without parameters, by their names. */
function made<T>(library: object, names: string): T[] {
  // A name that the library does not have is a TypeError here.
  const functions = library as Readonly<Record<string, () => T>>;
  return words(names).map((name) => functions[name]!());
}

const texts = {
  zod: [
    ...made<z.ZodType>(
      z,
      `email uuid uuidv7 guid url httpUrl emoji base64 base64url nanoid cuid cuid2 ulid xid ksuid mac ipv4 ipv6 cidrv4 cidrv6
      e164 jwt creditCard iban currencyCode hex hostname`,
    ),
    ...made<z.ZodType>(z.iso, 'date time datetime duration'),
    z.hash('sha256'),
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
    ...made<ReturnType<typeof v.email>>(
      v,
      `email rfcEmail uuid url domain base64 nanoid cuid2 ulid ksuid ipv4 ipv6 ip mac mac48 mac64 bic isrc creditCard decimal
      digits hexColor hexadecimal imei isoDate isoDateTime isoTime isoTimeSecond isoTimestamp isoWeek jwsCompact octal slug`,
    ),
    v.hash(['md5', 'sha256']),
    v.startsWith('a.'),
    v.endsWith('a-'),
    v.includes('a b'),
    v.regex(/^-[\w\-.] $/),
  ].map((action) =>
    toStandardJsonSchema(
      v.object({ text: v.pipe(v.string(), action as ReturnType<typeof v.email>) }),
    ),
  ),
  arktype: [
    ...words(
      `email uuid uuid.v4 url date.iso date.epoch semver ip ip.v4 ip.v6 hex base64 base64.url creditCard integer numeric digits
      alpha alphanumeric lower upper trim.preformatted capitalize.preformatted`,
    ).map((name) => `string.${name}`),
    '/^[\\w-.]\\-+$/',
  ].map((text) => type({ text: text as 'string' })),
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
