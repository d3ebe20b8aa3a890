import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { Dispatcher } from '../../../src/index.ts';
import { firstId, operands, replyTo } from '../fixed.ts';
import { assertRight, type HopSubject, variety } from './contract.ts';

/** One worker, and the whole way from the text of the request to the text of the reply. */
export async function createTandem(method: string): Promise<HopSubject> {
  const source = import.meta.url;
  const extension = source.endsWith('.ts') ? '.ts' : '.js';
  const dispatcher = new Dispatcher({
    modules: [new URL(`../procedures${extension}`, source).href],
    workers: 1,
    logLevel: 'error',
  });
  await dispatcher.ready();
  const numbers = Array.from({ length: variety }, (_, n) => n);
  const texts = numbers.map((n) =>
    JSON.stringify({ jsonrpc: '2.0', id: firstId + n, method, params: operands(n) }),
  );
  const replies = numbers.map((n) => JSON.stringify(replyTo(n)));
  return {
    call: (n) => {
      return new Promise<void>((resolve) => {
        dispatcher.handle(texts[n] as string, new RequestScope(), {
          onReply: (reply) => {
            assertRight(reply === replies[n]);
            resolve();
          },
        });
      });
    },
  };
}
