/** Where the files of the repository are on the site. */
import { existsSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders whose files have pages of their own, since pages link to them. */
export const sources: readonly string[] = ['examples', 'bench/subjects', 'templates/basic'];

/** SECURITY.md would else be docs/security.md where case does not count. */
const named: Readonly<Record<string, string>> = {
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security-policy.md',
};

/** @param path of a page, relative to the repository */
export function addressOf(path: string): string {
  return (
    named[path] ?? path.replace(/^docs\/(?:site\/)?/, '').replace(/(^|\/)README\.md$/, '$1index.md')
  );
}

/** The link of a page as the site has it: to a page, or to the page of a file or folder of `sources`. */
export function linkOf(page: string, href: string): string {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [path = '', anchor] = decodeURI(href).split('#');
  const target = posix.join(posix.dirname(page), path).replace(/\/$/, '');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (target.endsWith('.md')) return `/${addressOf(target)}${hash}`;
  const isSource = sources.some((folder) => `${target}/`.startsWith(`${folder}/`));
  if (!isSource || !existsSync(root + target)) return href;
  const isFolder = statSync(root + target).isDirectory();
  return `/sources/${isFolder ? posix.join(target, 'index') : target}.md`;
}
