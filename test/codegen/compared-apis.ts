import { compareApis } from '../../src/client/codegen/compare-apis.ts';
import { readDocument } from '../../src/client/codegen/document.ts';
import { told } from './command.ts';

/**
 * What compareParams of command.ts gives, without a command for each of thousands of pairs. One line for each finding:
 * `!` for what is broken, `?` for what cannot be told.
 */
export function compareParamsQuickly(before: unknown, after: unknown): string[] {
  const read = (schema: unknown) =>
    readDocument({
      openrpc: '1.4.1',
      methods: [{ name: 'm', params: [{ name: 'p', required: true, schema }] }],
    });
  return told(compareApis(read(before), read(after)));
}
