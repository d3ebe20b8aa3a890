/**
 * The media service on tRPC and piscina.
 * https://trpc.io/docs/server/authorization
 * https://trpc.io/docs/server/adapters/standalone
 */
import { initTRPC, TRPCError } from '@trpc/server';
import { createHTTPServer } from '@trpc/server/adapters/standalone';
import { Piscina } from 'piscina';
import { z } from 'zod';
import { hashPassword, isPassword, issueToken, Library, type User, userOf } from './domain.ts';
import type * as worker from './worker.ts';

const library = new Library(process.env.MEDIA_LIBRARY ?? ':memory:');
const pool = new Piscina({ filename: new URL('./worker.ts', import.meta.url).href });

const account = z.object({
  name: z.string().min(1).max(64),
  password: z.string().min(8).max(1024),
});
const image = z.base64().max(9_333_336);
const width = z.int().min(16).max(2000).default(400);
const id = z.int().min(1);
const photo = z.object({ id, title: z.string(), place: z.string(), year: z.int() });

const t = initTRPC.context<{ user: User | undefined }>().create();
const signedIn = t.procedure.use(({ ctx: { user }, next }) => {
  if (user === undefined) throw new TRPCError({ code: 'UNAUTHORIZED', message: 'Sign in' });
  return next({ ctx: { user } });
});

const router = t.router({
  users: {
    signUp: t.procedure.input(account).mutation(async ({ input: { name, password } }) => {
      if (!library.addUser(name, await hashPassword(password)))
        throw new TRPCError({ code: 'CONFLICT', message: 'Taken' });
    }),
    signIn: t.procedure
      .input(account)
      .output(z.object({ token: z.string() }))
      .mutation(async ({ input: { name, password } }) => {
        if (await isPassword(password, library.hashOf(name))) return { token: issueToken(name) };
        throw new TRPCError({ code: 'UNAUTHORIZED', message: 'Wrong name or password' });
      }),
  },
  images: {
    thumb: signedIn
      .input(z.object({ data: image, width }))
      .output(z.base64())
      .mutation(async ({ input }) => {
        const data: string | undefined = await pool.run(input, { name: 'thumb' });
        if (data === undefined)
          throw new TRPCError({ code: 'UNPROCESSABLE_CONTENT', message: 'Not an image' });
        return data;
      }),
    digest: signedIn
      .input(z.object({ data: image }))
      .output(z.string())
      .mutation(({ input: { data } }) => pool.run(data, { name: 'digest' })),
  },
  photos: {
    load: signedIn
      .input(z.object({ csv: z.string() }))
      .output(z.object({ added: z.int() }))
      .mutation(async ({ input: { csv }, ctx: { user } }) => {
        const { badLine, added }: ReturnType<typeof worker.load> = await pool.run(
          { csv, owner: user.name },
          { name: 'load' },
        );
        if (badLine === undefined) return { added };
        const message = `Not a table of photos: line ${badLine}`;
        throw new TRPCError({ code: 'UNPROCESSABLE_CONTENT', message });
      }),
    get: signedIn
      .input(z.object({ id }))
      .output(photo)
      .query(({ input: { id }, ctx: { user } }) => {
        const found = library.find(user.name, id);
        if (found === undefined)
          throw new TRPCError({ code: 'NOT_FOUND', message: 'No such photo' });
        return found;
      }),
    search: signedIn
      .input(z.object({ text: z.string().default('') }))
      .output(z.array(photo))
      .query(({ input: { text }, ctx: { user } }) => library.search(user.name, text, 100)),
  },
});

/** For the client, as tRPC has it. */
export type AppRouter = typeof router;

const server = createHTTPServer({
  router,
  createContext: ({ req }) => ({ user: userOf(req.headers.authorization) }),
  maxBodySize: 10 * 1024 ** 2,
}).listen(Number(process.env.PORT ?? 8000), '127.0.0.1', () => console.log(server.address()));
