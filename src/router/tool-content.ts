import { type TSchema, Type } from '@sinclair/typebox';
import { base64 } from './schema/bytes.ts';

let schema: TSchema | undefined;

/**
 * What a procedure with `tool: 'content'` returns: content of the Model Context Protocol, version 2026-07-28
 * (https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result). `content` is the first member.
 */
export function toolContent(): TSchema {
  schema ??= createSchema();
  return schema;
}

function createSchema(): TSchema {
  const shown = {
    annotations: Type.Optional(
      Type.Object({
        audience: Type.Optional(
          Type.Array(Type.Union([Type.Literal('user'), Type.Literal('assistant')])),
        ),
        priority: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        lastModified: Type.Optional(Type.String()),
      }),
    ),
  };
  const media = { data: base64(), mimeType: Type.String() };
  const uri = Type.String();
  const resource = { uri, mimeType: Type.Optional(Type.String()) };
  const block = Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String(), ...shown }),
    Type.Object({ type: Type.Literal('image'), ...media, ...shown }),
    Type.Object({ type: Type.Literal('audio'), ...media, ...shown }),
    Type.Object({
      type: Type.Literal('resource_link'),
      ...resource,
      name: Type.String(),
      title: Type.Optional(Type.String()),
      description: Type.Optional(Type.String()),
      size: Type.Optional(Type.Number()),
      ...shown,
    }),
    Type.Object({
      type: Type.Literal('resource'),
      resource: Type.Union([
        Type.Object({ ...resource, text: Type.String() }),
        Type.Object({ ...resource, blob: base64() }),
      ]),
      ...shown,
    }),
  ]);
  return Type.Object({
    content: Type.Array(block),
    isError: Type.Optional(Type.Boolean()),
  });
}
