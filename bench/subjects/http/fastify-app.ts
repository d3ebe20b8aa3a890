/**
 * Fastify with a schema for requests, which it validates, and one for replies, which it serialises by. Each method is a
 * route, so that its router dispatches. Its logger is off by default.
 * https://fastify.dev/docs/latest/Reference/Validation-and-Serialization/
 * https://github.com/fastify/fastify-cors
 */
import type { AddressInfo } from 'node:net';
import cors from '@fastify/cors';
import type { TSchema } from '@sinclair/typebox';
import { Type } from '@sinclair/typebox';
import { type FastifyInstance, fastify } from 'fastify';

export interface Call {
  readonly id: number;
  readonly params: never;
}

const version = Type.Literal('2.0');
const id = Type.Number();
const reply = Type.Object({ jsonrpc: version, id, result: Type.Number() });

/** Adds a route with the name of a method. It answers one call, or a batch of calls. */
export function addMethod(
  app: FastifyInstance,
  name: string,
  params: TSchema,
  run: (params: never) => number | Promise<number>,
): void {
  const call = Type.Object({ jsonrpc: version, id, method: Type.Literal(name), params });
  const answer = async ({ id, params }: Call) => ({
    jsonrpc: '2.0',
    id,
    result: await run(params),
  });
  app.post<{ Body: Call }>(
    `/${name}`,
    { schema: { body: call, response: { 200: reply } } },
    (request) => answer(request.body),
  );
  app.post<{ Body: Call[] }>(
    `/${name}/batch`,
    { schema: { body: Type.Array(call), response: { 200: Type.Array(reply) } } },
    (request) => Promise.all(request.body.map(answer)),
  );
}

export async function createFastify(): Promise<FastifyInstance> {
  const app = fastify();
  await app.register(cors, { origin: '*' });
  return app;
}

export async function listenFastify(app: FastifyInstance): Promise<number> {
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}
