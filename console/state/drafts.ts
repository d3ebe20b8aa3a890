import { prettyJson } from '../json/raw.ts';
import { type Draft, draftOfText } from '../schema/draft.ts';

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
  const draft: Draft = params === '' ? {} : draftOfText(params);
  const json = prettyJson(params);
  drafts.set(name, { mode: 'form', draft, json, version });
}
