/**
 * The pages of the site, made from those of the repository. Each has an address of its own, relative to the site: docs/guide/auth.md is guide/auth.md, and
 * what pages link to outside of docs, an example or a folder of them, is a page too. The site serves each page as HTML and as this Markdown.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { rootPath } from '../bench/root.ts';

const root = rootPath();

/** An entry of the menus, as VitePress takes it. */
export interface Item {
  readonly text: string;
  readonly link: string;
  /** In the navigation: which addresses belong to it. */
  readonly activeMatch?: string;
}

export interface Group {
  readonly text: string;
  readonly items: Item[];
}

interface Site {
  /** Texts by address. */
  readonly pages: ReadonlyMap<string, string>;
  /** Addresses of pictures, with the files that they are copies of. */
  readonly pictures: ReadonlyMap<string, string>;
}

/** Pages whose address does not follow from their path. SECURITY.md would else be docs/security.md where case does not count. */
const named: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'SECURITY.md': 'security-policy.md',
};

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function isFolder(path: string): boolean {
  return statSync(join(root, path)).isDirectory();
}

/** The address of a file or folder of the repository. */
function addressOf(path: string): string {
  const address = named[path] ?? path.replace(/^docs\//, '');
  if (isFolder(path)) return posix.join(address, 'index.md');
  if (isPicture(path)) return address.replace(/^bench\/results\//, 'benchmark/');
  if (!address.endsWith('.md')) return `${address}.md`;
  return address.replace(/README\.md$/, 'index.md');
}

const isPicture = (path: string): boolean => /\.(?:gif|jpe?g|png|svg|webp)$/.test(path);

/** The pages that people write: all others are made because one of these links to them. */
function written(): string[] {
  const ofDocs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md') && !name.startsWith('docs/site/'))
    .sort();
  return [...Object.keys(named), 'examples/README.md', ...ofDocs];
}

/** A link or a picture of Markdown, or the path of a picture of HTML; code of a line or of a block comes first, so that none is looked for in it. */
const linkOrCode =
  /^```.*?^```$|`[^`\n]+`|(?<before>\]\(|(?: src| srcset| href)=")(?<href>[^)\s"]+)(?=[)"])/gms;

/** Turns the links of a page into links between addresses. `onLink` gets each file that is linked. */
function withAddresses(page: string, text: string, onLink: (path: string) => void): string {
  const from = posix.dirname(addressOf(page));
  return text.replace(linkOrCode, (whole: string, ...rest: unknown[]) => {
    const { before, href } = rest.at(-1) as { before?: string; href?: string };
    if (before === undefined || href === undefined || /^[a-z]+:|^#/.test(href)) return whole;
    const [path = '', anchor] = decodeURI(href).split('#');
    const target = posix.join(posix.dirname(page), path).replace(/\/$/, '');
    if (target.startsWith('..') || !existsSync(join(root, target))) {
      throw new Error(`${page}: no ${href}`);
    }
    onLink(target);
    const relative = posix.relative(from, addressOf(target));
    const dotted = relative.startsWith('.') ? relative : `./${relative}`;
    return `${before}${dotted}${anchor === undefined ? '' : `#${anchor}`}`;
  });
}

/** What the highlighter of the site calls a language, if that is not the ending of its files. */
const languages: Readonly<Record<string, string>> = {
  '': 'text',
  cjs: 'js',
  conf: 'nginx',
  cts: 'ts',
  mjs: 'js',
  mod: 'text',
  mts: 'ts',
};

/** The page of a file that a browser shows as text; the search leaves it out. */
function filePage(path: string): string {
  const ending = posix.extname(path).slice(1);
  const text = read(path).trimEnd();
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${sourceMatter}# ${path}\n\n${fence}${languages[ending] ?? ending}\n${text}\n${fence}\n`;
}

/** The page of a folder, which lists what is in it. */
function folderPage(path: string, onLink: (path: string) => void): string {
  const items = readdirSync(join(root, path)).map((name) => {
    const target = posix.join(path, name);
    onLink(target);
    return `- [${name}](./${posix.relative(path, addressOf(target))})`;
  });
  return `${sourceMatter}# ${path}\n\n${items.join('\n')}\n`;
}

const sourceMatter = '---\nsearch: false\noutline: false\nprev: false\nnext: false\n---\n';

/** Reads all pages, and whatever they lead to. @throws Error for a link to what is not there */
export function readSite(): Site {
  const pages = new Map<string, string>();
  const pictures = new Map<string, string>();
  const paths = new Set(written());
  const onLink = (path: string): void => {
    paths.add(path);
  };
  // The set grows as links are found.
  for (const path of paths) {
    const address = addressOf(path);
    if (isPicture(path)) pictures.set(address, path);
    else if (pages.has(address))
      continue; // a folder whose README is that page
    else if (isFolder(path)) pages.set(address, folderPage(path, onLink));
    else if (path.endsWith('.md')) pages.set(address, withAddresses(path, read(path), onLink));
    else pages.set(address, filePage(path));
  }
  return { pages, pictures };
}

/** What a page is called: its heading. */
function item(path: string): Item {
  const [, text = path] = /^# (.+)$/m.exec(read(path)) ?? [];
  return { text, link: `/${addressOf(path).replace(/(?:index)?\.md$/, '')}` };
}

/** The pages that the list of a folder's README names, in its order. @throws Error for a page that it does not name */
function listed(folder: string): string[] {
  const list = read(`${folder}/README.md`);
  const names = Array.from(
    list.matchAll(/^(?:-|\d+\.) \[.*?\]\((\w[\w-]*\.md)\)/gm),
    ([, name]) => `${folder}/${name}`,
  );
  const missing = readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `${folder}/${name}`)
    .filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`${folder}/README.md does not list ${missing.join()}`);
  return names;
}

const isThere = (path: string): boolean => existsSync(join(root, path));

/** The groups of the sidebar, with the pages of each. A page of docs that no group names is in "In depth". */
function groups(): (readonly [text: string, pages: readonly string[]])[] {
  const compare = ['docs/compare.md', 'docs/coming-from.md', 'docs/ecosystem.md'];
  const reference = [
    'docs/reference/options.md',
    'docs/reference/api/README.md',
    'docs/protocol.md',
    'docs/support.md',
    'CHANGELOG.md',
  ];
  const internals = [
    'docs/architecture.md',
    'docs/reliability.md',
    'docs/security.md',
    'docs/benchmark.md',
    'docs/testing.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
  ];
  const placed = [...compare, ...reference, ...internals];
  const depth = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .filter((page) => !placed.includes(page));
  return [
    ['Guide', listed('docs/guide')],
    ['Recipes', listed('docs/recipes')],
    ['Compare', compare.filter(isThere)],
    ['In depth', [...depth, 'examples/README.md']],
    ['Reference', reference.filter(isThere)],
    ['How it works', internals.filter(isThere)],
  ];
}

/** What stands beside the pages below an address. */
export function sidebars(): Record<string, Group[]> {
  const all = groups().map(([text, pages]) => ({ text, items: pages.map(item) }));
  const pick = (...texts: string[]): Group[] => all.filter(({ text }) => texts.includes(text));
  return {
    '/guide/': pick('Guide', 'In depth'),
    '/recipes/': pick('Recipes'),
    '/reference/': pick('Reference', 'How it works'),
    '/': pick('Compare', 'In depth', 'Reference', 'How it works'),
  };
}

export function navigation(): Item[] {
  const [compare = ''] = ['docs/compare.md', 'docs/coming-from.md'].filter(isThere);
  const pages: Readonly<Record<string, string>> = {
    Guide: 'docs/guide/README.md',
    Recipes: 'docs/recipes/README.md',
    Compare: compare,
    Benchmarks: 'docs/benchmark.md',
    Reference: 'docs/reference/README.md',
    Changelog: 'CHANGELOG.md',
  };
  return Object.entries(pages).map(([text, page]) => {
    const { link } = item(page);
    return { text, link, activeMatch: `^${link}` };
  });
}

/** The sentence that the site says of itself. */
export function description(): string {
  return (JSON.parse(read('package.json')) as { description: string }).description;
}

/** What matches in the README. @throws Error if it has another shape now */
function ofReadme(pattern: RegExp): string {
  const [, found] = pattern.exec(read('README.md')) ?? [];
  if (found === undefined)
    throw new Error(`README.md has no ${pattern}, which the home page shows`);
  return found;
}

/** The home page: the sentence, the picture, the installation, the doors and the two files, all as the README has them. */
function homePage(): string {
  const about = ofReadme(/^# .+\n\n.+\n\n([\s\S]+?)\n\n/);
  const [before, picture, behind] = [
    ofReadme(/^(.+)\n\n<!-- media:start -->/m),
    ofReadme(/^(<picture>.*?^<\/picture>)$/ms),
    ofReadme(/<!-- media:end -->\n\n(.+?)\n\n/s),
  ];
  const install = ofReadme(/^\$ (npm install .*)$/m);
  const [, note = ''] = /^(The package is not on npm .+?)\n\n/ms.exec(read('README.md')) ?? [];
  const doors = Array.from(
    read('README.md').matchAll(/^- \*\*(.+?):\*\* (.*?\]\((.+?)\).*)$/gm),
    ([, title, text = '', href]) => {
      const plain = text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
      const sentence = plain.charAt(0).toUpperCase() + plain.slice(1);
      return `<a class="door" href="${href}">\n\n**${title}**\n\n${sentence}\n\n</a>`;
    },
  );
  if (doors.length !== 3) throw new Error('README.md has other doors than the home page');
  const files = ['service.ts', 'client.ts'].map((name) => {
    const file = ofReadme(new RegExp(`^(\`\`\`ts\n// ${name}\n.*?^\`\`\`)$`, 'ms'));
    return file.replace(`ts\n// ${name}\n`, `ts [${name}]\n`);
  });
  return `---
layout: home
title: Tandem RPC
titleTemplate: ${description().replace(/\.$/, '')}
---

<main class="front">
<div class="first">
<div>

# Tandem RPC

<p class="sentence">${description()}</p>

${about}

</div>
<div>

${before}

${picture}

${behind}

</div>
</div>

${note}

\`\`\`sh
${install}
\`\`\`

<div class="doors">

${doors.join('\n\n')}

</div>

## Two files

::: code-group

${files.join('\n\n')}

:::

</main>
`;
}

/** Writes all pages and pictures into a folder, the home page instead of the README. */
export function writePages({ pages, pictures }: Site, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const home = withAddresses('README.md', homePage(), () => {});
  for (const [address, text] of [...pages, ['index.md', home] as const]) {
    mkdirSync(dirname(join(folder, address)), { recursive: true });
    writeFileSync(join(folder, address), text);
  }
  copyPictures(pictures, folder);
}

function copyPictures(pictures: Site['pictures'], folder: string): void {
  for (const [address, path] of pictures) cpSync(join(root, path), join(folder, address));
}

/** What llms.txt tells behind a link: what the list of the folder says of the page, or its first sentence; '' if it begins with something else. */
function summary(path: string): string {
  const list = join(root, dirname(path), 'README.md');
  const lines = existsSync(list) ? readFileSync(list, 'utf8').split('\n') : [];
  const line = lines.find((one) => one.includes(`](${posix.basename(path)}): `));
  if (line !== undefined) return line.slice(line.indexOf('): ') + 1);
  const [, paragraph = ''] = /^# .+\n\n([A-Z[`][\s\S]*?)\n\n/m.exec(read(path)) ?? [];
  const plain = paragraph.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replace(/\s+/g, ' ');
  const [sentence] = /^.+?[.:](?= |$)/.exec(plain) ?? [];
  return sentence === undefined ? '' : `: ${sentence.replace(/:$/, '.')}`;
}

/**
 * Writes what programs read beside the HTML: the Markdown of each page with its pictures, a list of the pages (llms.txt), and their texts in one file
 * (llms-full.txt).
 */
export function writeTexts({ pages, pictures }: Site, folder: string): void {
  for (const [address, text] of pages) {
    writeFileSync(join(folder, address), text.replace(/^---\n[\s\S]*?\n---\n/, ''));
  }
  copyPictures(pictures, folder);
  const lists = groups().map(([text, members]) => {
    const lines = members.map(
      (path) => `- [${item(path).text}](/${addressOf(path)})${summary(path)}`,
    );
    return `## ${text}\n\n${lines.join('\n')}\n`;
  });
  const head = `# Tandem RPC\n\n> ${description()}\n`;
  const intro = 'Each page is here as Markdown, and with the ending .html for people.';
  const full = 'All pages in one file: [llms-full.txt](/llms-full.txt).';
  writeFileSync(join(folder, 'llms.txt'), [head, `${intro} ${full}\n`, ...lists].join('\n'));

  const isGenerated = (path: string): boolean => path.startsWith('docs/reference/api/');
  const texts = ['README.md', ...groups().flatMap(([, members]) => members)]
    .filter((path) => !isGenerated(path))
    .map((path) => `<!-- /${addressOf(path)} -->\n\n${pages.get(addressOf(path)) ?? ''}`);
  const left =
    'The reference of the API is not in this file: [/reference/api/index.md](/reference/api/index.md).';
  writeFileSync(join(folder, 'llms-full.txt'), [head, `${left}\n`, ...texts].join('\n'));
}
