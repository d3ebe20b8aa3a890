import type { PageFacts } from '../src/extras/console/console.ts';

/** What the server has written into the page. */
export const facts: PageFacts = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name=tandem]')?.content ?? '{}',
) as PageFacts;

/** The URL of the calls; undefined: the page's server takes none. */
export const callsUrl: string | undefined =
  facts.calls === null ? undefined : new URL(facts.calls, document.baseURI).href;

export const figuresUrl: string = new URL('figures', document.baseURI).href;

export const exampleUrl: string = new URL('example', document.baseURI).href;

export const profileUrl: string = new URL('profile', document.baseURI).href;
