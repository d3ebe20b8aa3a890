import { escapeControls } from '../../core/base/escape.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { printAndExit } from '../ending.ts';
import { fetchDocument, type RemoteOptions } from './remote.ts';
import { explained, kindOf, toOpenRpc } from './source.ts';

export interface SchemaOptions extends RemoteOptions {
  readonly openrpc: boolean;
}

/** `tandem schema`: prints the introspection document, or the OpenRPC document. */
export async function schema(source: string, options: SchemaOptions): Promise<void> {
  const document = await describe(source, options);
  const text = explained(source, () => `${JSON.stringify(document, null, 2)}\n`);
  await printAndExit(process.stdout.isTTY ? forTerminal(text) : text);
}

async function describe(source: string, options: SchemaOptions): Promise<unknown> {
  const format = options.openrpc ? 'openrpc' : 'tandem';
  switch (kindOf(source)) {
    case 'module': {
      const { describeModule } = await import('./module-source.ts');
      return describeModule(source, format);
    }
    case 'url': {
      const value = (await fetchDocument(source, format, options))?.value;
      return options.openrpc ? toOpenRpc(value, source) : value;
    }
    case 'document':
      throw new StartupError(`${source} is a document already; give a module or a URL`);
  }
}

function forTerminal(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}
