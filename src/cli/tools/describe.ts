import { type Api, type Method, readDocument } from '../../client/codegen/document.ts';
import { NamedTypes, SchemaTypes } from '../../client/codegen/schema-type.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printAndExit } from '../exit.ts';
import { fitted, joinLines, narrowed, resultText, table } from '../output.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';
import { explained, kindOf, readOpenRpc } from './source.ts';

/** `tandem schema`: prints the introspection document, or the OpenRPC document. */
export async function schema(
  source: string,
  format: 'tandem' | 'openrpc',
  options: RemoteOptions,
): Promise<void> {
  const document = await describe(source, format, options);
  const text = explained(source, () => `${JSON.stringify(document, null, 2)}\n`);
  const { isTTY } = process.stdout;
  await printAndExit(isTTY ? text.split('\n').map(escapeControls).join('\n') : text);
}

async function describe(
  source: string,
  format: 'tandem' | 'openrpc',
  options: RemoteOptions,
): Promise<unknown> {
  const kind = kindOf(source);
  if (kind === 'document') {
    throw new StartupError(`${source} is a document already; give a module or a URL`);
  }
  if (format === 'openrpc') return readOpenRpc(source, options);
  if (kind === 'url') return (await fetchDocument(source, format, options))?.value;
  const { describeModule } = await import('./module-source.ts');
  return (await describeModule(source, format)).document;
}

/** `tandem list`: the procedures with their types, or their names alone. */
export async function list(
  source: string,
  options: RemoteOptions,
  namesAlone: boolean,
): Promise<void> {
  const document = await readOpenRpc(source, options);
  const lines = explained(source, () => {
    const api = readDocument(document);
    return namesAlone ? api.methods.map(({ name }) => escapeControls(name)) : tableOf(api);
  });
  await printAndExit(lines.map((line) => `${line}\n`).join(''));
}

function tableOf({ methods, references }: Api): string[] {
  const types = new SchemaTypes(new NamedTypes(references), { inline: true });
  const typeOf = (schema: unknown, path: string): string =>
    joinLines(types.typeOf({ schema, root: schema, path })).replace(/(^|[:(,<] ?)\| /g, '$1');
  const paramsOf = ({ params, rest, path }: Method): string => {
    const texts = params.map(({ name, required, schema }) => {
      return `${name}${required ? '' : '?'}: ${typeOf(schema, `${path}.params`)}`;
    });
    if (rest !== undefined) texts.push('...');
    return texts.length === 0 ? '-' : texts.join(', ');
  };
  const resultOf = ({ result, stream, path }: Method): string => {
    const yields = stream && typeOf(stream.yields, `${path}.result`);
    return resultText(typeOf(result, `${path}.result`), yields);
  };
  const rows = methods.map((method) => [
    method.name,
    paramsOf(method),
    resultOf(method),
    method.doc?.trim().split('\n', 1)[0] ?? '',
  ]);
  const { columns } = process.stdout;
  const head = ['PROCEDURE', 'PARAMS', 'RESULT', 'DESCRIPTION'];
  return table(narrowed([head, ...rows], columns)).map((line) => fitted(line, columns));
}
