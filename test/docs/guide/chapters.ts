import { readdirSync } from 'node:fs';
import { pathOf, read } from '../pages.ts';
import { parseStory } from './story.ts';

/** Recipes of pages: test/client/react.long.test.ts plays them. */
const ofBrowsers: readonly string[] = ['docs/recipes/react.md'];

/** The pages of the guide and of the recipes: each is a story. */
export const chapters: readonly string[] = ['guide', 'recipes'].flatMap((folder) =>
  readdirSync(pathOf(`docs/${folder}`))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .map((name) => `docs/${folder}/${name}`)
    .filter((page) => !ofBrowsers.includes(page)),
);

/**
 * The chapters that type what npm itself decides: how a project begins, what is installed, and what `npx` then finds.
 * first-contact.long.test.ts plays them with npm as it is. The others need no more of npm than these, but for what they install.
 */
export const ofNewcomers: readonly string[] = [
  'docs/guide/first-service.md',
  'docs/guide/deploy.md',
];

/** What the chapters install for a service that runs, each once: `sharp`, `@nats-io/transport-node@3.3.1`. */
export function installed(): string[] {
  const words = chapters
    .flatMap((page) => parseStory(read(page)))
    .flatMap((step) =>
      step.kind === 'command' ? [/^npm install ([^-].*)$/.exec(step.line)?.[1]] : [],
    )
    .flatMap((names) => names?.split(' ') ?? []);
  return [...new Set(words)];
}
