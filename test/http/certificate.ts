import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { type Lifetime, temporaryFolder } from '../files.ts';

/** A certificate of its own for 127.0.0.1 and localhost, in files. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
  readonly keyPath: string;
  readonly certPath: string;
  readonly folder: string;
}

export interface Validity {
  readonly from?: Date;
  readonly to?: Date;
}

/** In files that are gone with the test. */
export async function makeCertificate(
  t: Lifetime,
  { from, to }: Validity = {},
): Promise<Certificate> {
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    algorithm: 'sha256',
    keyType: 'ec',
    ...(from !== undefined && { notBeforeDate: from }),
    ...(to !== undefined && { notAfterDate: to }),
    extensions: [
      { name: 'basicConstraints', cA: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  const folder = temporaryFolder(t);
  const keyPath = join(folder, 'key.pem');
  const certPath = join(folder, 'cert.pem');
  writeFileSync(keyPath, made.private);
  writeFileSync(certPath, made.cert);
  return { key: made.private, cert: made.cert, keyPath, certPath, folder };
}
