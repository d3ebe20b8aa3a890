/**
 * The media service on Fastify and piscina.
 * https://fastify.dev/docs/latest/Reference/Type-Providers/
 * https://fastify.dev/docs/latest/Reference/Hooks/
 */
import sensible from '@fastify/sensible';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Type } from '@sinclair/typebox';
import { fastify } from 'fastify';
import { Piscina } from 'piscina';
import { hashPassword, isPassword, issueToken, Library, userOf } from './domain.ts';
import type * as worker from './worker.ts';

declare module 'fastify' {
  interface FastifyRequest {
    user: string;
  }
}

const library = new Library(process.env.MEDIA_LIBRARY ?? ':memory:');
const pool = new Piscina({ filename: new URL('./worker.ts', import.meta.url).href });

const Account = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64 }),
  password: Type.String({ minLength: 8, maxLength: 1024 }),
});
const Image = Type.String({ contentEncoding: 'base64', maxLength: 9_333_336 });
const Width = Type.Integer({ minimum: 16, maximum: 2000, default: 400 });
const Id = Type.Integer({ minimum: 1 });
const Photo = Type.Object({
  id: Id,
  title: Type.String(),
  place: Type.String(),
  year: Type.Integer(),
});

const app = fastify({ bodyLimit: 10 * 1024 ** 2 }).withTypeProvider<TypeBoxTypeProvider>();
await app.register(sensible);

app.post(
  '/users/signUp',
  { schema: { body: Account } },
  async ({ body: { name, password } }, reply) => {
    if (!library.addUser(name, await hashPassword(password)))
      throw app.httpErrors.conflict('Taken');
    return reply.code(204).send();
  },
);
app.post(
  '/users/signIn',
  { schema: { body: Account, response: { 200: Type.Object({ token: Type.String() }) } } },
  async ({ body: { name, password } }) => {
    if (await isPassword(password, library.hashOf(name))) return { token: issueToken(name) };
    throw app.httpErrors.unauthorized('Wrong name or password');
  },
);

await app.register(async (untyped) => {
  const signedIn = untyped.withTypeProvider<TypeBoxTypeProvider>();
  signedIn.decorateRequest('user', '');
  signedIn.addHook('onRequest', async (request) => {
    const user = userOf(request.headers.authorization);
    if (user === undefined) throw app.httpErrors.unauthorized('Sign in');
    request.user = user.name;
  });

  signedIn.post(
    '/images/thumb',
    {
      schema: {
        body: Type.Object({ data: Image, width: Width }),
        response: { 200: Type.Object({ data: Type.String() }) },
      },
    },
    async ({ body }) => {
      const data: string | undefined = await pool.run(body, { name: 'thumb' });
      if (data === undefined) throw app.httpErrors.unprocessableEntity('Not an image');
      return { data };
    },
  );
  signedIn.post(
    '/images/digest',
    {
      schema: {
        body: Type.Object({ data: Image }),
        response: { 200: Type.Object({ digest: Type.String() }) },
      },
    },
    async ({ body: { data } }) => ({ digest: await pool.run(data, { name: 'digest' }) }),
  );
  signedIn.post(
    '/photos/load',
    {
      schema: {
        body: Type.Object({ csv: Type.String() }),
        response: { 200: Type.Object({ added: Type.Integer() }) },
      },
    },
    async ({ body: { csv }, user }) => {
      const { badLine, added }: ReturnType<typeof worker.load> = await pool.run(
        { csv, owner: user },
        { name: 'load' },
      );
      if (badLine === undefined) return { added };
      throw app.httpErrors.unprocessableEntity(`Not a table of photos: line ${badLine}`);
    },
  );
  signedIn.post(
    '/photos/get',
    { schema: { body: Type.Object({ id: Id }), response: { 200: Photo } } },
    async ({ body: { id }, user }) => {
      const photo = library.find(user, id);
      if (photo === undefined) throw app.httpErrors.notFound('No such photo');
      return photo;
    },
  );
  signedIn.post(
    '/photos/search',
    {
      schema: {
        body: Type.Object({ text: Type.String({ default: '' }) }),
        response: { 200: Type.Array(Photo) },
      },
    },
    async ({ body: { text }, user }) => library.search(user, text, 100),
  );
});

await app.listen({ port: Number(process.env.PORT ?? 8000) });
console.log(app.server.address());
