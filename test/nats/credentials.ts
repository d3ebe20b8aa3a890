import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createUser>;

export interface Operator {
  /** The configuration of a server that lets in whoever has the credentials. */
  readonly config: string;
  /** What a credentials file holds. */
  readonly creds: string;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

/** A JWT as NATS has it: signed with the issuer's nkey. */
function sign(issuer: KeyPair, subject: KeyPair, name: string, nats: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = {
    jti: name,
    iat: 1_600_000_000,
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
    name,
    nats: { version: 2, ...nats },
  };
  const signed = `${part({ typ: 'JWT', alg: 'ed25519-nkey' })}.${part(claims)}`;
  return `${signed}.${Buffer.from(issuer.sign(Buffer.from(signed))).toString('base64url')}`;
}

const unlimited = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: -1,
};

/** An operator with one account and one user. */
export function makeOperator(): Operator {
  const operator = nkeys.createOperator();
  const account = nkeys.createAccount();
  const user = nkeys.createUser();
  const accountJwt = sign(operator, account, 'account', { type: 'account', limits: unlimited });
  const userJwt = sign(account, user, 'user', {
    type: 'user',
    pub: {},
    sub: {},
    subs: -1,
    data: -1,
    payload: -1,
  });
  return {
    config: [
      `operator: ${sign(operator, operator, 'operator', { type: 'operator' })}`,
      'resolver: MEMORY',
      `resolver_preload: { ${account.getPublicKey()}: ${accountJwt} }`,
    ].join('\n'),
    creds: [
      '-----BEGIN NATS USER JWT-----',
      userJwt,
      '------END NATS USER JWT------',
      '',
      '-----BEGIN USER NKEY SEED-----',
      textOf(user.getSeed()),
      '------END USER NKEY SEED------',
      '',
    ].join('\n'),
  };
}

/** A user of an nkey: the name that a server lists, and the seed that a client keeps. */
export function makeNkey(): { readonly name: string; readonly seed: string } {
  const user = nkeys.createUser();
  return { name: user.getPublicKey(), seed: textOf(user.getSeed()) };
}
