/** Accounts, thumbnails and digests of images, and a table of photos in SQLite. README.md says how to run them. */
import { Router, RpcError, Type } from 'tandem-rpc';
import { hashPassword, isPassword, issueToken, type User } from './domain/accounts.ts';
import { parsePhotos } from './domain/csv.ts';
import { digestOf, thumbnail } from './domain/images.ts';
import { Library } from './domain/library.ts';

/** Each thread has a connection of its own to the one file. */
export const setup = () => new Library(process.env.MEDIA_LIBRARY ?? ':memory:');
export const teardown = (library: Library) => library.close();

const Text = Type.String();
const Id = Type.Integer({ minimum: 1 });
const Image = Type.Base64({ maxBytes: 7_000_000 });
const Width = Type.Integer({ minimum: 16, maximum: 2000, default: 400 });
const Photo = Type.Object({ id: Id, title: Text, place: Text, year: Type.Integer() });
const Account = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 64 }),
  password: Type.String({ minLength: 8, maxLength: 1024 }),
});

interface Environment {
  readonly auth: User | undefined;
  readonly state: Library;
}
const app = new Router<Environment>();
const signedIn = new Router<Environment>().use(({ auth }, next) => {
  if (auth === undefined) throw new RpcError(401, 'Sign in');
  return next({ user: auth });
});

const signUp = app.procedure({ params: Account }, async ({ name, password }, { state }) => {
  if (!state.addUser(name, await hashPassword(password))) throw new RpcError(409, 'Taken');
});

const signIn = app.procedure(
  { params: Account, returns: Type.Object({ token: Text }) },
  async ({ name, password }, { state }) => {
    if (await isPassword(password, state.hashOf(name))) return { token: issueToken(name) };
    throw new RpcError(401, 'Wrong name or password');
  },
);

const thumb = signedIn.procedure(
  { params: { data: Image, width: Width }, returns: Type.Base64(), placement: 'worker' },
  async ({ data, width }) => {
    const bytes = await thumbnail(data, width);
    if (bytes === undefined) throw new RpcError(422, 'Not an image');
    return bytes;
  },
);

const digest = signedIn.procedure({ params: { data: Image }, returns: Text }, ({ data }) =>
  digestOf(data),
);

const load = signedIn.procedure(
  {
    params: { csv: Text },
    returns: Type.Object({ added: Type.Integer() }),
    errors: {
      BadCsv: { code: 422, message: 'Not a table of photos', data: Type.Object({ line: Id }) },
    },
  },
  ({ csv }, { state, user, errors }) => {
    const { photos, badLine } = parsePhotos(csv);
    if (badLine !== undefined) throw errors.BadCsv({ line: badLine });
    return { added: state.addPhotos(user.name, photos) };
  },
);

const get = signedIn.procedure(
  { params: { id: Id }, returns: Photo, placement: 'inline' },
  ({ id }, { state, user }) => {
    const photo = state.find(user.name, id);
    if (photo === undefined) throw new RpcError(404, 'No such photo');
    return photo;
  },
);

const search = signedIn.procedure(
  {
    params: { text: Type.String({ default: '' }) },
    returns: Type.Array(Photo),
    placement: 'inline',
  },
  ({ text }, { state, user }) => state.search(user.name, text, 100),
);

export default Router.from({
  users: { signUp, signIn },
  images: { thumb, digest },
  photos: { load, get, search },
});
