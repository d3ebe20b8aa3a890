/** What the tests read out of the project's pages. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchorOf } from '../../scripts/anchor.ts';
import { root } from '../files.ts';

/** The pages of a folder and its folders, relative to the project, without those that building the site makes. */
function pagesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !/^(?:site|reference\/api)\b/.test(name))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort();
}

export const pages: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...pagesIn('docs'),
  'examples/README.md',
];

/** The absolute path of a file of the project. */
export function pathOf(name: string): string {
  return join(root, name);
}

export function read(name: string): string {
  return readFileSync(pathOf(name), 'utf8');
}

interface Fence {
  readonly language: string;
  readonly text: string;
}

/** The fenced blocks of a page, in their order. */
export function fences(page: string): Fence[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** What links may name in a page: its headings, of which equal ones are numbered, and the anchors that it sets. */
export function anchors(page: string): Set<string> {
  const prose = page.replace(/^```.*?^```$/gms, '');
  const set = Array.from(prose.matchAll(/<a id="([^"]+)">/g), ([, id = '']) => id);
  const names = new Set(set);
  for (const [, heading = ''] of prose.matchAll(/^#+ (.+)$/gm)) {
    const name = anchorOf(heading);
    let free = name;
    for (let count = 1; names.has(free) && !set.includes(free); count++) free = `${name}-${count}`;
    names.add(free);
  }
  return names;
}

/** Targets of the links of a page that lead into the project. */
export function links(page: string): string[] {
  return [...page.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}
