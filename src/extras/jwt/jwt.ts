import { createRequire } from 'node:module';
import { type TSchema, Type } from '@sinclair/typebox';
import type * as Jose from 'jose';
import { StartupError } from '../../core/base/startup-error.ts';
import { shown } from '../../core/base/text.ts';
import { RpcError } from '../../core/protocol/errors.ts';
import { oneOf, optionsCheck, valueThat, yesOrNo } from '../../core/schema/options.ts';
import { IssuerKeys } from './issuer-keys.ts';

/** Whose tokens are taken, and how. */
export interface JwtOptions {
  /** The claim `iss`, to the letter. Without `jwksUri` the URL below which its metadata lies (OAuth or OpenID Connect). */
  readonly issuer: string;
  /** The claim `aud`, to the letter: for agents the option `publicUrl` with `/mcp` behind it. Of several the token must name one. */
  readonly audience: string | readonly string[];
  /** Where the public keys of the issuer are. */
  readonly jwksUri?: string | undefined;
  /** Signatures that are taken; undefined: all by public keys. */
  readonly algorithms?: readonly JwtAlgorithm[] | undefined;
  /** How far the clocks of the issuer and of this machine may differ, 0 to 600; undefined: 0. */
  readonly clockToleranceSeconds?: number | undefined;
  /** Whether callers without a token may call: their `auth` is undefined. A bad token is refused all the same. */
  readonly optional?: boolean | undefined;
}

/** What becomes `context.auth`. */
export interface JwtAuth {
  /** The claim `sub`, by which callers are told apart. */
  readonly sub?: string;
  /** Of the claim `scope`, a text, or `scp`. */
  readonly scopes: readonly string[];
  /** All claims of the token. */
  readonly claims: Readonly<Record<string, unknown>>;
}

const algorithmNames = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

/** A signature that a public key checks. With the others (HS256) whoever checks tokens could make them. */
export type JwtAlgorithm = (typeof algorithmNames)[number];

/** What the hook reads of a request: of HTTP, of NATS, and of a framework. */
export interface JwtRequest {
  readonly headers: { readonly authorization?: string | undefined };
}

/** The code of the RpcError that refuses a token, or a caller without one; `data.reason` says why. */
const refusedCode = 4010;

/** A longer token is refused unread. */
const maxTokenLength = 8192;

/**
 * Makes the hook `authenticate` of a service whose callers send tokens that others issue (JWT, RFC 7519 and 9068), as `authorization:
 * Bearer <token>`. Needs the package jose.
 *
 * The hook refuses with an RpcError 4010. If the keys of the issuer cannot be fetched and none are known, it throws an
 * Error, which callers get as -32603 and the log tells whole.
 *
 * @throws StartupError for options that can't be, and if jose is missing; its one line says what to do
 */
export function jwt(
  options: JwtOptions & { readonly optional: true },
): (request: JwtRequest) => Promise<JwtAuth | undefined>;
export function jwt(
  options: JwtOptions & { readonly optional?: false | undefined },
): (request: JwtRequest) => Promise<JwtAuth>;
export function jwt(options: JwtOptions): (request: JwtRequest) => Promise<JwtAuth | undefined>;
export function jwt(options: JwtOptions): (request: JwtRequest) => Promise<JwtAuth | undefined> {
  assertJwtOptions(options);
  assertInstalled();
  const { optional = false } = options;
  const loading = import('jose').then((jose) => new Verifier(jose, options));
  // Whoever calls first hears of a failure.
  loading.catch(() => {});
  return async ({ headers: { authorization } }) => {
    if (authorization === undefined && optional) return undefined;
    const token = tokenOf(authorization);
    const claims = await (await loading).verify(token);
    const { sub } = claims;
    return { ...(typeof sub === 'string' && { sub }), scopes: scopesOf(claims), claims };
  };
}

const issuerExpected = 'an http or https URL (for an issuer that is none give jwksUri too)';

const someText = (description: string): TSchema => Type.String({ minLength: 1, description });

const checkOptions = optionsCheck<keyof JwtOptions>(
  {
    issuer: () => someText(issuerExpected),
    audience: () => {
      const audience = someText('a text');
      const description = 'a text, or a list of texts';
      return Type.Union([audience, Type.Array(audience, { minItems: 1 })], { description });
    },
    jwksUri: () => valueThat(isHttpUrl, 'an http or https URL'),
    algorithms: () => {
      const description = `a list of ${algorithmNames.join(', ')}`;
      return Type.Array(oneOf(...algorithmNames), { minItems: 1, description });
    },
    clockToleranceSeconds: () =>
      Type.Number({ minimum: 0, maximum: 600, description: 'seconds, 0 to 600' }),
    optional: yesOrNo,
  },
  {
    expected:
      "an object, such as { issuer: 'https://auth.example.com', audience: 'https://tools.example.com/mcp' }",
    required: ['issuer', 'audience'],
    Failure: StartupError,
  },
);

function assertJwtOptions(options: JwtOptions): void {
  checkOptions(options, 'jwt');
  const { issuer, jwksUri } = options;
  if (jwksUri !== undefined || isHttpUrl(issuer)) return;
  throw new StartupError(`jwt: option issuer must be ${issuerExpected}, got ${shown(issuer)}`);
}

function isHttpUrl(given: unknown): boolean {
  return typeof given === 'string' && /^https?:\/\/\S+$/.test(given) && URL.canParse(given);
}

/** Found, not loaded: a service that lacks it must not start, and loading takes its time. */
function assertInstalled(): void {
  try {
    createRequire(import.meta.url).resolve('jose');
  } catch (error) {
    throw new StartupError(
      'jwt: it needs the package jose, which is not installed: npm install jose',
      {
        cause: error,
      },
    );
  }
}

type Reason =
  | 'missing'
  | 'scheme'
  | 'length'
  | 'malformed'
  | 'expired'
  | 'early'
  | 'claim'
  | 'signature';

const notSigned = 'Token refused: it is no signed JWT';
const foreignKey = 'Token refused: it is not signed by a key of the issuer';

function refusal(reason: Reason, message: string): RpcError {
  return new RpcError(refusedCode, message, { reason });
}

/** The token of RFC 6750, 2.1. @throws RpcError */
function tokenOf(authorization: string | undefined): string {
  if (authorization === undefined) {
    throw refusal('missing', 'Sign in: send the header authorization: Bearer <token>');
  }
  if (authorization.length > maxTokenLength + 'Bearer '.length) {
    throw refusal('length', `Token refused: longer than ${maxTokenLength} characters`);
  }
  const [, token] = /^Bearer +([\w~+/.-]+=*)$/i.exec(authorization) ?? [];
  if (token === undefined) {
    throw refusal('scheme', 'Token refused: the header authorization must be Bearer <token>');
  }
  return token;
}

/** Of the claims of OAuth (RFC 9068, 2.2.3: a text), and of issuers that call them `scp`. */
function scopesOf({ scope, scp }: Jose.JWTPayload): string[] {
  const given: unknown = scope ?? scp;
  const list: unknown = typeof given === 'string' ? given.split(' ') : given;
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string' && one !== '') : [];
}

/** Checks tokens of one issuer. */
class Verifier {
  readonly #jose: typeof Jose;
  readonly #keys: IssuerKeys;
  readonly #checks: Jose.JWTVerifyOptions;

  constructor(jose: typeof Jose, options: JwtOptions) {
    const { issuer, audience, jwksUri, algorithms = algorithmNames } = options;
    this.#jose = jose;
    this.#keys = new IssuerKeys(jose, { issuer, jwksUri });
    this.#checks = {
      issuer,
      audience: typeof audience === 'string' ? audience : [...audience],
      algorithms: [...algorithms],
      clockTolerance: options.clockToleranceSeconds ?? 0,
      requiredClaims: ['exp'],
    };
  }

  /** @throws RpcError for a token that is not taken, Error if there are no keys */
  async verify(token: string): Promise<Jose.JWTPayload> {
    this.#assertTaken(token);
    await this.#keys.load();
    const payload = await this.#signed(token);
    // JSON.parse makes Infinity of 1e999: such a token would never expire.
    if (Number.isFinite(payload.exp)) return payload;
    throw refusal('claim', 'Token refused: the claim exp is not what is expected here');
  }

  async #signed(token: string): Promise<Jose.JWTPayload> {
    const { errors } = this.#jose;
    try {
      return await this.#check(token);
    } catch (error) {
      const mayBeNew =
        error instanceof errors.JWKSNoMatchingKey ||
        error instanceof errors.JWSSignatureVerificationFailed;
      if (!mayBeNew || !(await this.#keys.renew())) throw this.#refusalOf(error);
    }
    return this.#check(token).catch((error: unknown) => {
      throw this.#refusalOf(error);
    });
  }

  /** What is signed otherwise, or not at all, costs no fetch of keys. @throws RpcError */
  #assertTaken(token: string): void {
    let alg: string | undefined;
    try {
      ({ alg } = this.#jose.decodeProtectedHeader(token));
    } catch {
      throw refusal('malformed', notSigned);
    }
    if (alg === undefined || this.#checks.algorithms?.includes(alg) !== true) {
      throw refusal('signature', foreignKey);
    }
  }

  async #check(token: string): Promise<Jose.JWTPayload> {
    const { errors, jwtVerify } = this.#jose;
    try {
      return (await jwtVerify(token, this.#keys.keyOf, this.#checks)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      // The token names no key, and the issuer has several of this kind: while it changes them, say.
      for await (const key of error) {
        try {
          return (await jwtVerify(token, key, this.#checks)).payload;
        } catch (failed) {
          if (!(failed instanceof errors.JWSSignatureVerificationFailed)) throw failed;
        }
      }
      throw new errors.JWSSignatureVerificationFailed();
    }
  }

  /** What the caller is told; the error itself, if it says that the keys of the issuer are no good. */
  #refusalOf(error: unknown): unknown {
    const { errors } = this.#jose;
    if (error instanceof errors.JWTExpired)
      return refusal('expired', 'Token refused: it has expired');
    if (error instanceof errors.JWTClaimValidationFailed) {
      const { claim, reason } = error;
      if (claim === 'nbf' && reason === 'check_failed') {
        return refusal('early', 'Token refused: it is not valid yet');
      }
      const what = reason === 'missing' ? 'is missing' : 'is not what is expected here';
      return refusal('claim', `Token refused: the claim ${claim} ${what}`);
    }
    if (
      error instanceof errors.JWKSNoMatchingKey ||
      error instanceof errors.JWSSignatureVerificationFailed
    ) {
      return refusal('signature', foreignKey);
    }
    const isOfToken = error instanceof errors.JOSEError && !(error instanceof errors.JWKSInvalid);
    return isOfToken ? refusal('malformed', notSigned) : error;
  }
}
