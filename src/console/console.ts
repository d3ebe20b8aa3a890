import { readFileSync } from 'node:fs';
import { isLocalName } from '../base/loopback.ts';
import { packageFolder } from '../base/package-files.ts';
import { type Answer, jsonAnswer } from '../http/edge/answer.ts';
import type { ConsoleSite } from '../http/edge/console-site.ts';
import { Figures, type FiguresSource } from './figures.ts';
import { type PageFacts, Pages } from './pages.ts';

export interface ConsoleOptions {
  /** The path of the calls. */
  readonly path: string;
  readonly introspection: boolean;
  /** undefined: no figures are kept. */
  readonly figures: FiguresSource | undefined;
  /** Whether requests must name this machine by a name that no page can take, such as localhost. */
  readonly localOnly: boolean;
}

/** The console of a service: its page, and the figures that the page shows. Reads no file until somebody asks. */
export function createConsole(options: ConsoleOptions): ConsoleSite {
  const { path, introspection, localOnly } = options;
  const pages = new Pages();
  const figures = options.figures && new Figures(options.figures);
  let version: string | undefined;
  return {
    isServed: (host) => !localOnly || isLocalName(host),
    page(request, serves) {
      version ??= readVersion();
      const facts: PageFacts = {
        // The page lies one folder below what the paths of this server begin at.
        calls: serves === 'operations' ? null : `..${path}`,
        live: serves !== 'calls' && figures !== undefined,
        introspection,
        version,
      };
      return pages.answer(request, facts);
    },
    figures:
      figures &&
      (async (): Promise<Answer> => {
        const headers = ['cache-control', 'no-store', ...privately];
        return jsonAnswer(200, await figures.bytes(), headers);
      }),
  };
}

const privately = [
  'x-content-type-options',
  'nosniff',
  'cross-origin-resource-policy',
  'same-origin',
];

function readVersion(): string {
  const manifest = readFileSync(new URL('package.json', packageFolder), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
