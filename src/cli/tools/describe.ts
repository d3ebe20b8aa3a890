import { type Api, type Method, readDocument } from '../../client/codegen/document.ts';
import { escapeControls } from '../../core/base/escape.ts';
import { serviceName } from '../../core/base/package-files.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import {
  type FlagValues,
  type OptionName,
  optionsFromFlags,
  resolveConfig,
} from '../../core/config/config.ts';
import { flagOf } from '../../core/config/option.ts';
import { table as optionTable } from '../../core/config/table.ts';
import type { Procedure } from '../../core/procedures/types.ts';
import { anything } from '../../core/schema/model.ts';
import { typeText } from '../../core/schema/write-type.ts';
import { printAndExit } from '../exit.ts';
import { fitted, narrowed, resultText, table } from '../output.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';
import { explained, kindOf, readOpenRpc } from './source.ts';

export interface SchemaOptions extends RemoteOptions {
  readonly openrpc: boolean;
  readonly openapi: boolean;
  /** What the user gave of the options that the OpenAPI document of a module shows. */
  readonly http: FlagValues;
}

/** `tandem schema`: prints the introspection document, or the OpenRPC or OpenAPI document. */
export async function schema(source: string, options: SchemaOptions): Promise<void> {
  const document = await describe(source, options);
  const text = explained(source, () => `${JSON.stringify(document, null, 2)}\n`);
  const { isTTY } = process.stdout;
  await printAndExit(isTTY ? text.split('\n').map(escapeControls).join('\n') : text);
}

async function describe(
  source: string,
  { openrpc, openapi, http, ...options }: SchemaOptions,
): Promise<unknown> {
  if (openrpc && openapi) throw new StartupError('--openrpc and --openapi: give one of them');
  const kind = kindOf(source);
  if (kind === 'document') {
    throw new StartupError(`${source} is a document already; give a module or a URL`);
  }
  if (!openapi || kind === 'url') assertNone(http);
  if (openrpc) return readOpenRpc(source, options);
  if (kind === 'url') {
    return (await fetchDocument(source, openapi ? 'openapi' : 'tandem', options))?.value;
  }
  const { describeModule } = await import('./module-source.ts');
  const format = openapi ? await openApiFormat(http) : 'tandem';
  return (await describeModule(source, format)).document;
}

/**
 * Makes the OpenAPI document that a service would have that is started with the same flags and variables, except that there is a
 * path unless they say none.
 */
async function openApiFormat(flags: FlagValues) {
  const { env } = process;
  const isGiven = (variable: string): boolean => (env[variable] ?? '').trim() !== '';
  const usual = isGiven('TANDEM_HTTP_PATH') ? undefined : '/api';
  const config = resolveConfig({ httpPath: usual, ...optionsFromFlags(flags) }, env);
  if (config.httpPath === '') {
    throw new StartupError('option httpPath is none: without it there is no OpenAPI document');
  }
  // Who gives it has an authenticate: a service without one has no use for the option.
  const hasAuth = flags.httpAuth !== undefined || isGiven('TANDEM_HTTP_AUTH');
  const { openApiOf } = await import('../../extras/openapi/document.ts');
  const { Operations } = await import('../../extras/openapi/operation.ts');
  return (procedures: ReadonlyMap<string, Procedure>) =>
    openApiOf(new Operations(procedures, config.httpProcedures, hasAuth), {
      ...config,
      title: serviceName(),
      hasAuth,
    });
}

/** @throws StartupError if there is one of the flags that only the OpenAPI document of a module shows */
function assertNone(flags: FlagValues): void {
  const [given] = Object.keys(flags) as OptionName[];
  if (given === undefined) return;
  throw new StartupError(
    `--${flagOf(given, optionTable[given])} is about the OpenAPI document of a module: give --openapi and a module beside it`,
  );
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

function tableOf({ methods }: Api): string[] {
  const typeOf = (node = anything): string => typeText(node, { isNamed: true });
  const paramsOf = ({ params, rest }: Method): string => {
    const texts = params.map(
      ({ name, required, node }) => `${name}${required ? '' : '?'}: ${typeOf(node)}`,
    );
    if (rest !== undefined) texts.push('...');
    return texts.length === 0 ? '-' : texts.join(', ');
  };
  const resultOf = ({ result, stream }: Method): string =>
    resultText(typeOf(result), stream && typeOf(stream.yields));
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
