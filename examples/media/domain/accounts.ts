/** Passwords and tokens. */
import { createHmac, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

/** Who calls, as a token says it. */
export interface User {
  readonly name: string;
}

interface Claims extends User {
  /** Unix milliseconds. */
  readonly expires: number;
}

// Computed by libuv's own threads: no event loop waits for it.
const derive = promisify<string, string, number, ScryptOptions, Buffer>(scrypt);
const cost: ScryptOptions = { N: 2 ** 14 };
const day = 24 * 3_600_000;

/** @returns the salt and the hash of a password, in hexadecimal */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('hex');
  return `${salt}:${(await derive(password, salt, 32, cost)).toString('hex')}`;
}

/** @param known what {@link hashPassword} gave; undefined: nobody has this name, which takes as long to find out */
export async function isPassword(password: string, known: string | undefined): Promise<boolean> {
  const [salt = '', hash = ''] = known?.split(':') ?? [];
  const given = await derive(password, salt, 32, cost);
  return known !== undefined && timingSafeEqual(given, Buffer.from(hash, 'hex'));
}

export function issueToken(name: string): string {
  const claims: Claims = { name, expires: Date.now() + day };
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${text}.${sign(text)}`;
}

/** The user of an `authorization` header; undefined: it has no token of ours that is still good. */
export function userOf(authorization: string | undefined): User | undefined {
  const [, text = '', signature = ''] =
    /^Bearer ([\w-]+)\.([\w-]{43})$/.exec(authorization ?? '') ?? [];
  if (!timingSafeEqual(Buffer.from(sign(text)), Buffer.from(signature.padEnd(43))))
    return undefined;
  const { name, expires } = JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims;
  return expires > Date.now() ? { name } : undefined;
}

/** @throws Error where no secret is set: tokens signed by a known one could be forged */
function sign(text: string): string {
  const secret = process.env.MEDIA_SECRET;
  if (secret === undefined) throw new Error('set MEDIA_SECRET, by which tokens are signed');
  return createHmac('sha256', secret).update(text).digest('base64url');
}
