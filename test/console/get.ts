import { existsSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import { buildConsole } from '../../scripts/console.ts';
import { type AppOptions, Router } from '../../src/index.ts';
import { root, tree } from '../files.ts';
import { type Lifetime, startApp } from '../harness.ts';

export interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A request to the letter: nothing is followed, unpacked or added but the Host header, where none is given. */
export function get(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The page has been built for this run: `npm test` does that, and a test that runs from the sources does it itself. */
export async function ensureBuilt(): Promise<void> {
  const built = join(tree, 'dist/console');
  if (!existsSync(built)) await buildConsole(root, built);
}

/** It has one procedure, `one`. */
export function routerOfOne(): Router {
  const router = new Router();
  router.rpc({ name: 'one', placement: 'inline' }, () => 1);
  return router;
}

/** An app, and the URLs of its paths. */
export async function serve(t: Lifetime, options: AppOptions) {
  const started = await startApp(t, { router: routerOfOne(), ...options });
  return { ...started, at: (path: string) => new URL(path, started.url).href };
}
