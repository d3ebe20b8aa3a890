import { readdirSync } from 'node:fs';
import { pathOf, read } from '../pages.ts';
import { parseStory } from './story.ts';

/** The recipes with packages that this project does not have: `npm run test:recipes` plays them. */
export const ofFrameworks: readonly string[] = [
  'docs/recipes/hono-express.md',
  'docs/recipes/model.md',
  'docs/recipes/nestjs.md',
  'docs/recipes/nextjs.md',
  'docs/recipes/postgres.md',
];

/** Recipes of pages: test/client/react.long.test.ts plays them. */
const ofBrowsers: readonly string[] = ['docs/recipes/react.md'];

/** The pages of the guide and all other recipes: each is a story. */
export const chapters: readonly string[] = ['guide', 'recipes'].flatMap((folder) =>
  readdirSync(pathOf(`docs/${folder}`))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `docs/${folder}/${name}`)
    .filter((page) => !ofFrameworks.includes(page) && !ofBrowsers.includes(page)),
);

/**
 * The chapters that type what npm itself decides: how a project begins, what is installed, and what `npx` then finds.
 * first-contact.long.test.ts plays them with npm as it is. The others need no more of npm than these, but for what they install.
 */
export const ofNewcomers: readonly string[] = [
  'docs/guide/first-service.md',
  'docs/guide/deploy.md',
];

const [inClone = '', inProject = ''] = read('README.md').split(/^(?=## Get the package$)/m);

/** What README.md has typed in a clone, and in an empty folder beside it. */
export const readme = { clone: parseStory(inClone), project: parseStory(inProject) };

/** What pages install for a service that runs, each once: `sharp`, `@nats-io/transport-node@3.3.1`. */
export function installed(pages: readonly string[] = chapters): string[] {
  const words = pages
    .flatMap((page) => parseStory(read(page)))
    .flatMap((step) =>
      step.kind === 'command' ? [/^npm install ([^-].*)$/.exec(step.line)?.[1]] : [],
    )
    .flatMap((names) => names?.split(' ') ?? [])
    .filter((name) => !name.startsWith('-'));
  return [...new Set(words)];
}
