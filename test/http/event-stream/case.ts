import type { ConfigOptions } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/server/http/edge/http-options.ts';
import type { Stage } from './stage.ts';

/** One thing that is true of event streams, whatever server they come from. */
export interface EventCase {
  readonly name: string;
  /** Of the service. */
  readonly options?: ConfigOptions;
  readonly http?: Partial<HttpOptions>;
  readonly run: (stage: Stage) => Promise<void>;
}

/** A value of a stream as its event brings it. */
export function valueEvent(method: string, subscription: string, value: unknown): string {
  const params = `{"subscription":${subscription},"result":${JSON.stringify(value)}}`;
  return `data: {"jsonrpc":"2.0","method":"${method}","params":${params}}\n\n`;
}
