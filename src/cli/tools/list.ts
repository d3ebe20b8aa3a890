import { type Api, type Method, readDocument } from '../../client/codegen/document.ts';
import { NamedTypes, SchemaTypes } from '../../client/codegen/schema-type.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { printAndExit } from '../ending.ts';
import { fitted, joinLines, narrowed, table } from '../output.ts';
import { resultText } from '../result-text.ts';
import type { RemoteOptions } from './remote.ts';
import { explained, readOpenRpc } from './source.ts';

export interface ListOptions extends RemoteOptions {
  readonly names: boolean;
}

/** `tandem list`: the procedures with their types. */
export async function list(source: string, options: ListOptions): Promise<void> {
  const document = await readOpenRpc(source, options);
  const lines = explained(source, () => {
    const api = readDocument(document);
    return options.names ? api.methods.map(({ name }) => escapeControls(name)) : tableOf(api);
  });
  await printAndExit(lines.map((line) => `${line}\n`).join(''));
}

function tableOf({ methods, references }: Api): string[] {
  const types = new SchemaTypes(new NamedTypes(references), { inline: true });
  const rows = methods.map((method) => [
    method.name,
    paramsOf(method, types),
    resultOf(method, types),
    firstLine(method.doc),
  ]);
  const { columns } = process.stdout;
  const head = ['PROCEDURE', 'PARAMS', 'RESULT', 'DESCRIPTION'];
  return table(narrowed([head, ...rows], columns)).map((line) => fitted(line, columns));
}

function paramsOf({ params, rest, path }: Method, types: SchemaTypes): string {
  const texts = params.map(({ name, required, schema }) => {
    const type = oneLine(types.typeOf({ schema, root: schema, path: `${path}.params` }));
    return `${name}${required ? '' : '?'}: ${type}`;
  });
  if (rest !== undefined) texts.push('...');
  return texts.length === 0 ? '-' : texts.join(', ');
}

function resultOf({ result, stream, path }: Method, types: SchemaTypes): string {
  const text = (schema: unknown): string =>
    oneLine(types.typeOf({ schema, root: schema, path: `${path}.result` }));
  return resultText(text(result), stream && text(stream.yields));
}

function oneLine(type: string): string {
  return joinLines(type).replace(/(^|[:(,<] ?)\| /g, '$1');
}

function firstLine(doc: string | undefined): string {
  return doc?.trim().split('\n', 1)[0] ?? '';
}
