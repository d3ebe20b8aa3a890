/** A page for each file of the folders that pages link to, with its text, and for each folder, with a list. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import { root, sources } from '../addresses.ts';

/** What the highlighter calls a language, if that is not the ending of its files. */
const languages: Readonly<Record<string, string>> = {
  '': 'text',
  '.conf': 'nginx',
  '.mjs': 'js',
  '.mod': 'text',
  '.mts': 'ts',
};

interface Page {
  readonly params: { readonly path: string };
  readonly content: string;
}

function pagesOf(path: string): Page[] {
  if (!statSync(root + path).isDirectory()) {
    const ending = extname(path);
    const code = `\`\`\`\`\`${languages[ending] ?? ending.slice(1)}\n${readFileSync(root + path, 'utf8')}\n\`\`\`\`\``;
    return [{ params: { path }, content: `# ${path}\n\n${code}\n` }];
  }
  // Those in Markdown are pages anyway, or read as text in an editor.
  const names = readdirSync(root + path).filter((name) => !name.endsWith('.md'));
  const pages = names.flatMap((name) => pagesOf(`${path}/${name}`));
  const list = names.map((name) => {
    const index = statSync(`${root}${path}/${name}`).isDirectory() ? '/index' : '';
    return `- [${name}](/sources/${path}/${name}${index}.md)`;
  });
  const content = `# ${path}\n\n${list.join('\n')}\n`;
  return [{ params: { path: `${path}/index` }, content }, ...pages];
}

export default { paths: () => sources.flatMap(pagesOf) };
