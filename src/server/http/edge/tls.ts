import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../../core/base/message-of.ts';
import { StartupError } from '../../../core/base/startup-error.ts';

/** A key and its certificate, which were read and found to belong together. */
export interface TlsFiles {
  readonly keyPath: string;
  readonly certPath: string;
  /** PEM text. */
  readonly key: string;
  /** PEM text: the certificate, then the certificates up to its root, if any. */
  readonly cert: string;
}

/**
 * Reads the key and the certificate and makes sure that they work. The native server would only say that they do not.
 *
 * @param keyPath a private key, PEM, not encrypted
 * @param certPath a certificate, PEM, followed by its chain
 * @param warn called for a certificate that no client will accept
 * @throws StartupError one line: which option, which file, what is wrong
 */
export async function loadTls(
  keyPath: string,
  certPath: string,
  warn: (message: string) => void,
): Promise<TlsFiles> {
  const key = await read('tlsKey', keyPath);
  const cert = await read('tlsCert', certPath);
  const privateKey = toPrivateKey(key, keyPath);
  const certificate = toCertificate(cert, certPath);
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartupError(
      `option tlsKey: the key in ${keyPath} is not that of the certificate in ${certPath}`,
    );
  }
  try {
    createSecureContext({ key, cert });
  } catch (cause) {
    throw new StartupError(`option tlsCert: ${certPath} can't be used: ${messageOf(cause)}`, {
      cause,
    });
  }
  const note = validityNote(certificate, Date.now());
  if (note !== undefined) warn(`tls: the certificate in ${certPath} ${note}`);
  return { keyPath, certPath, key, cert };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'no permission to read it',
  EISDIR: 'it is a folder',
};

async function read(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'latin1');
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    const why = reasons[code] ?? messageOf(cause);
    throw new StartupError(`option ${option}: can't read ${path}: ${why}`, { cause });
  }
}

function toPrivateKey(pem: string, path: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    const why = /^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(pem)
      ? 'is encrypted: give it without its passphrase (openssl pkey writes it so)'
      : 'holds no private key in PEM form';
    throw new StartupError(`option tlsKey: ${path} ${why}`, { cause });
  }
}

function toCertificate(pem: string, path: string): X509Certificate {
  try {
    if (pem.includes('-----BEGIN ')) return new X509Certificate(pem);
  } catch (cause) {
    throw new StartupError(`option tlsCert: ${path} holds no certificate in PEM form`, { cause });
  }
  // Binary (DER): Node would take such a certificate, uWebSockets.js would not.
  throw new StartupError(`option tlsCert: ${path} holds no certificate in PEM form`);
}

function validityNote({ validFrom, validTo }: X509Certificate, now: number): string | undefined {
  if (Date.parse(validTo) < now) return `has expired: it was valid to ${validTo}`;
  if (Date.parse(validFrom) > now) return `is not valid yet: it will be from ${validFrom}`;
  return undefined;
}
