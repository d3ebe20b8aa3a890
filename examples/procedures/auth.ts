import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { Router, Type } from 'tandem-rpc';

export const auth = new Router();

const password = Type.String({ minLength: 1, maxLength: 1024 });
const hex = (bytes: number) => Type.String({ pattern: `^[0-9a-f]{${bytes * 2}}$` });
const salt = hex(16);
const hash = hex(32);

// About 50 ms of one core and 16 MB: what makes guessing expensive must not stop the other calls.
function derive(secret: string, saltHex: string): Buffer {
  return scryptSync(secret.normalize('NFKC'), Buffer.from(saltHex, 'hex'), 32, { N: 2 ** 14 });
}

auth.rpc(
  {
    name: 'hash',
    doc: 'Hashes a password with scrypt and a new salt (hexadecimal).',
    params: Type.Object({ password }),
    returns: Type.Object({ salt, hash }),
    placement: 'worker',
  },
  (params) => {
    const newSalt = randomBytes(16).toString('hex');
    return { salt: newSalt, hash: derive(params.password, newSalt).toString('hex') };
  },
);

auth.rpc(
  {
    name: 'verify',
    doc: 'Whether a password is the one that was hashed.',
    params: Type.Object({ password, salt, hash }),
    returns: Type.Boolean(),
    placement: 'worker',
  },
  (params) =>
    timingSafeEqual(derive(params.password, params.salt), Buffer.from(params.hash, 'hex')),
);
