import {
  type Compatibility,
  compareApis,
  type MethodFinding,
} from '../../client/codegen/compare-apis.ts';
import { readDocument } from '../../client/codegen/document.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { counted } from '../../core/base/text.ts';
import { fail, printAndExit } from '../exit.ts';
import type { RemoteOptions } from './remote.ts';
import { explained, readOpenRpc } from './source.ts';

export interface DiffOptions extends RemoteOptions {
  readonly json: boolean;
  /** What the comparison can't tell does not count. */
  readonly allowUnknown: boolean;
}

/** `tandem diff`: exits with 0 if the new contract keeps the old one, with 1 if it breaks it, with 2 on a mistake. */
export async function diff(before: string, after: string, options: DiffOptions): Promise<void> {
  try {
    const compared = await compare(before, after, options);
    const isBroken = compared.findings.some(
      ({ kind }) => kind === 'breaking' || !options.allowUnknown,
    );
    const text = options.json ? jsonText(compared, isBroken) : lines(compared).join('');
    await printAndExit(text, isBroken ? 1 : 0);
  } catch (error) {
    fail(error, mistake);
  }
}

/** The exit code of a mistake: 1 tells that a contract was broken. */
const mistake = 2;

async function compare(
  before: string,
  after: string,
  options: RemoteOptions,
): Promise<Compatibility> {
  const old = await readOpenRpc(before, options);
  const fresh = await readOpenRpc(after, options);
  const olds = explained(before, () => readDocument(old));
  const news = explained(after, () => readDocument(fresh));
  return explained(`${before}, ${after}`, () => compareApis(olds, news));
}

function jsonText({ findings, added }: Compatibility, isBroken: boolean): string {
  return `${JSON.stringify({ compatible: !isBroken, findings, added }, null, 2)}\n`;
}

function lines({ findings, added, methods }: Compatibility): string[] {
  const told = findings.map((finding) => `${escapeControls(line(finding))}\n`);
  const broken = findings.filter(({ kind }) => kind === 'breaking').length;
  const unknown = findings.length - broken;
  const counts = [
    broken === 0 ? '' : `${broken} breaking`,
    unknown === 0 ? '' : `${unknown} that can't be told`,
    findings.length === 0 ? `compatible: ${counted(methods, 'procedure')} kept` : '',
    added.length === 0 ? '' : `${added.length} added`,
  ].filter((text) => text !== '');
  return [...told, `${counts.join(', ')}\n`];
}

function line({ kind, method, path, reason }: MethodFinding): string {
  const mark = kind === 'breaking' ? 'breaking  ' : "can't tell";
  return `${mark}  ${method}: ${path === '' ? '' : `${path}: `}${reason}`;
}
