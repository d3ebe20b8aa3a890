import type { Draft } from '../schema/draft.ts';

/** What was filled in for a procedure, as long as the page is open. */
export interface ProcedureDraft {
  readonly mode: 'form' | 'json';
  readonly draft: Draft;
  /** What the JSON editor holds. */
  readonly json: string;
  /** Changes when the fields must begin anew: another value was put in from elsewhere. */
  readonly version: number;
}

const drafts = new Map<string, ProcedureDraft>();

export function draftOf(name: string): ProcedureDraft | undefined {
  return drafts.get(name);
}

export function keepDraft(name: string, draft: ProcedureDraft): void {
  drafts.set(name, draft);
}

/** Puts params into the fields of a procedure, from the history say. @param params JSON text; empty: none */
export function putParams(name: string, params: string): void {
  const version = (drafts.get(name)?.version ?? 0) + 1;
  const draft: Draft = params === '' ? {} : (JSON.parse(params) as unknown);
  const json = params === '' ? '' : JSON.stringify(draft, undefined, 2);
  drafts.set(name, { mode: 'form', draft, json, version });
}
