import fc from 'fast-check';
import { mutate, randomOf, value } from '../../jsonrpc/bodies.ts';
import { type Head, modernVersion } from './mcp-model.ts';

/** One message of a client, and what its headers say. As data, so that a failure shrinks to what matters. */
export interface McpCase {
  readonly text: string;
  /** Seed of the changes to the text; undefined: none. */
  readonly changes: number | undefined;
  /** A header that says something else than the body; null: there is none. */
  readonly wrong: { readonly header: keyof Head; readonly value: string | undefined } | null;
}

/** There in one of so many. */
function rarely<T>(arbitrary: fc.Arbitrary<T>, of: number): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: of - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
}

const metaFull = `{"io.modelcontextprotocol/protocolVersion":"${modernVersion}","io.modelcontextprotocol/clientCapabilities":{}}`;

const meta = fc.oneof(
  { weight: 8, arbitrary: fc.constant(metaFull) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '{}',
      'null',
      '[]',
      '{"progressToken":7}',
      '{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}',
      `{"io.modelcontextprotocol/protocolVersion":"${modernVersion}"}`,
      '{"io.modelcontextprotocol/clientCapabilities":{"a":[1]}}',
      `{"progressToken":"t","progressToken":"u"}`,
    ),
  },
);

const name = fc.constantFrom(
  '"in.any"',
  '"in_any"',
  '"out_any"',
  '"out.a.b"',
  '"in_math_add"',
  '"in.echo"',
  '"out_echo"',
  '"out_padded"',
  '"in_\\u0061ny"',
  '"none"',
  '"é"',
  '"=?base64?aQ==?="',
  '""',
  '7',
);

const given = fc.oneof(
  { weight: 3, arbitrary: value },
  { weight: 3, arbitrary: value.map((text) => `{"value":${text}}`) },
  { weight: 1, arbitrary: value.map((text) => `{"pad":"x","value":${text}}`) },
  { weight: 1, arbitrary: fc.constantFrom('{"value":1e999}', '{}', '[]', 'null') },
);

const params = fc
  .record({
    name: fc.option(name, { freq: 8 }),
    arguments: fc.option(given, { freq: 5 }),
    _meta: fc.option(meta, { freq: 4 }),
    cursor: rarely(fc.constantFrom('"500"', '"x"', '1', 'null'), 9),
    protocolVersion: fc.option(fc.constantFrom('"2025-06-18"', '"2024-11-05"', '"x"', '1'), {
      freq: 2,
    }),
    extra: rarely(value, 5),
  })
  .chain((members) => {
    const texts = Object.entries(members).flatMap(([key, text]) =>
      text === null ? [] : [`"${key}":${text}`],
    );
    return fc.shuffledSubarray(texts, { minLength: texts.length });
  })
  .map((members) => `{${members.join(',')}}`);

const method = fc.oneof(
  { weight: 6, arbitrary: fc.constant('"tools/call"') },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      '"tools/list"',
      '"server/discover"',
      '"initialize"',
      '"ping"',
      '"notifications/initialized"',
      '"tools\\/call"',
      '"tools/calls"',
      '""',
      '1',
    ),
  },
);

const id = fc.constantFrom(
  '1',
  '-7',
  '"x"',
  '"a\\nb"',
  '1.50',
  '9007199254740993',
  'null',
  '[]',
  '""',
);

const message = fc
  .record({
    jsonrpc: fc.option(fc.constantFrom('"2.0"', '"2.0"', '"2.0"', '"1.0"'), { freq: 12 }),
    id: fc.option(id, { freq: 6 }),
    method: fc.option(method, { freq: 12 }),
    params: fc.option(fc.oneof({ weight: 9, arbitrary: params }, { weight: 1, arbitrary: value }), {
      freq: 8,
    }),
  })
  .map((members) => {
    const texts = Object.entries(members).flatMap(([key, text]) =>
      text === null ? [] : [`"${key}":${text}`],
    );
    return `{${texts.join(',')}}`;
  });

const text = fc.oneof(
  { weight: 5, arbitrary: message },
  {
    weight: 1,
    arbitrary: fc.array(message, { maxLength: 6 }).map((messages) => `[${messages.join(',')}]`),
  },
);

const otherWords = ['2025-03-26', '2025-11-25', '1900-01-01', 'tools/call', 'in_any', 'x'];

export const mcpCase: fc.Arbitrary<McpCase> = fc.record({
  text,
  changes: fc.option(fc.integer(), { nil: undefined, freq: 2 }),
  wrong: rarely(
    fc.record({
      header: fc.constantFrom('version' as const, 'method' as const, 'name' as const),
      value: fc.option(fc.constantFrom(modernVersion, ...otherWords), { nil: undefined }),
    }),
    4,
  ),
});

export function bytesOf({ text: sent, changes }: McpCase): Buffer {
  if (changes === undefined) return Buffer.from(sent);
  const random = randomOf(changes);
  const bytes = Buffer.from(mutate(sent, random));
  if (bytes.length > 0 && random(12) === 0) bytes[random(bytes.length)] = random(256);
  return bytes;
}

/** What the headers of a careful client say of a body, with the one that is wrong. */
export function headOf(one: McpCase, body: Buffer): Head {
  const said = saidBy(body);
  const head: Record<keyof Head, string | undefined> = {
    version: plain(said.params?._meta?.['io.modelcontextprotocol/protocolVersion']),
    method: plain(said.method),
    name:
      typeof said.params?.name === 'string' ? Buffer.from(said.params.name).toString() : undefined,
  };
  if (one.wrong !== null) head[one.wrong.header] = one.wrong.value;
  return head;
}

interface Said {
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> };
}

function saidBy(body: Buffer): Said {
  try {
    return (JSON.parse(body.toString()) as Said | null) ?? {};
  } catch {
    return {};
  }
}

/** A header can't hold any text. */
function plain(said: unknown): string | undefined {
  return typeof said === 'string' && /^[!-~]+$/.test(said) ? said : undefined;
}

export function headersOf({
  version,
  method: called,
  name: named,
}: Head): Record<string, string | undefined> {
  const isPlain = named === undefined || (/^[!-~]+$/.test(named) && !named.startsWith('=?base64?'));
  return {
    host: 'localhost',
    'mcp-protocol-version': version,
    'mcp-method': called,
    'mcp-name': isPlain ? named : `=?base64?${Buffer.from(named).toString('base64')}?=`,
  };
}
