/** The two sides of a schema: what a handler gets, and what a caller sends. */

import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { z } from 'zod';
import type { Bytes, ContractOf } from '../../src/client/index.ts';
import { type Input, procedure, Router, Type } from '../../src/index.ts';
import { same } from './same.ts';

const { rpc } = new Router();

// An object of schemas stands for Type.Object.
rpc({ name: 'a', params: { id: Type.String(), n: Type.Optional(Type.Number()) } }, (params) => {
  same<typeof params, { n?: number; id: string }>(true);
});
rpc({ name: 'none', params: {} }, (params) => {
  same<typeof params, Record<never, never>>(true);
});
// @ts-expect-error a schema of a text is no object of schemas
rpc({ name: 'b', params: Type.String() }, () => 1);
// @ts-expect-error q is a number
rpc({ name: 'c', params: { q: Type.Number() } }, ({ q }) => q.length);

// A default makes a member present for the handler, and one that may be left out for a caller.
const quality = { q: Type.Optional(Type.Number({ default: 80 })), r: Type.Number({ default: 1 }) };
rpc({ name: 'd', params: quality }, ({ q, r }) => {
  same<typeof q, number>(true);
  same<typeof r, number>(true);
});
const nested = Type.Object({
  user: Type.Object({ name: Type.String(), admin: Type.Boolean({ default: false }) }),
  list: Type.Array(Type.Object({ n: Type.Integer({ default: 0 }) })),
  either: Type.Union([
    Type.Object({ k: Type.Literal('a'), x: Type.Number({ default: 1 }) }),
    Type.Null(),
  ]),
});
rpc({ name: 'e', params: nested }, ({ user, list, either }) => {
  same<typeof user, { name: string; admin: boolean }>(true);
  same<typeof list, { n: number }[]>(true);
  same<typeof either, { k: 'a'; x: number } | null>(true);
});
same<
  Input<typeof nested>,
  {
    user: { name: string; admin?: boolean };
    list: { n?: number }[];
    either: { k: 'a'; x?: number } | null;
  }
>(true);
same<Input<typeof quality>, { q?: number; r?: number }>(true);

// Bytes.
const thumb = procedure(
  { params: { data: Type.Base64() }, returns: Type.Object({ data: Type.Base64() }) },
  ({ data }) => {
    same<typeof data, Bytes>(true);
    return { data };
  },
);
// Bytes that come lie in an ArrayBuffer, as a Blob of the DOM wants them; of what is sent any Uint8Array is taken.
const album = procedure(
  {
    params: Type.Object({ one: Type.Base64(), more: Type.Optional(Type.Array(Type.Base64())) }),
    returns: Type.Record(Type.String(), Type.Union([Type.Base64(), Type.Null()])),
  },
  ({ one, more }) => {
    same<typeof one, Bytes>(true);
    same<typeof more, Bytes[] | undefined>(true);
    return { one: Buffer.from(one), rest: more?.[0] ?? null, shared: ofAnyMemory };
  },
);
declare const ofAnyMemory: Uint8Array;
// @ts-expect-error text is no bytes
rpc({ name: 'f', returns: Type.Base64() }, () => 'AAAA');

// Schemas of other libraries: handlers get what a schema makes, callers send what it takes.
const Zod = z.object({ a: z.number().default(1), b: z.string().transform((text) => text.length) });
const byZod = procedure({ params: Zod, returns: z.object({ sum: z.number() }) }, ({ a, b }) => {
  same<typeof a, number>(true);
  same<typeof b, number>(true);
  return { sum: a + b };
});
same<Input<typeof Zod>, { a?: number | undefined; b: string }>(true);
const byArk = procedure({ params: type({ a: 'number', 'c?': 'string[]' }) }, (params) => {
  same<typeof params, { a: number; c?: string[] }>(true);
  return params.a;
});
const byValibot = procedure(
  { params: toStandardJsonSchema(v.object({ a: v.optional(v.number(), 3) })) },
  ({ a }) => {
    same<typeof a, number>(true);
    return a;
  },
);
// @ts-expect-error sum is a number
rpc({ name: 'g', returns: z.object({ sum: z.number() }) }, () => ({ sum: 'x' }));
// @ts-expect-error a schema of a text is no object
rpc({ name: 'h', params: 5 }, () => 1);

const api = Router.from({ thumb, album, byZod, byArk, byValibot });
type Api = ContractOf<typeof api>;
same<Api['thumb']['params'], { data: Uint8Array }>(true);
same<Api['thumb']['result'], { data: Bytes }>(true);
same<Api['album']['params'], { one: Uint8Array; more?: Uint8Array[] }>(true);
same<Api['album']['result'], Record<string, Bytes | null>>(true);
same<Bytes, ReturnType<typeof Uint8Array.of>>(true);
same<Api['byZod']['params'], { a?: number | undefined; b: string }>(true);
same<Api['byZod']['result'], { sum: number }>(true);
same<Api['byArk']['params'], { a: number; c?: string[] }>(true);
same<Api['byValibot']['params'], { a?: number | undefined }>(true);
