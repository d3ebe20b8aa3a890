/** `log.tail`: the lines that are appended to a file, as they come. Set TAIL_FILE to the file. */
import { open } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { Router, RpcError, Type } from 'tandem-rpc';

const router = new Router();
export default router;

/** How often the file is looked at, milliseconds: a watcher misses files on network drives. */
const everyMs = 100;
const chunkBytes = 64 * 1024;

router.rpc(
  {
    name: 'log.tail',
    doc: 'The lines that are appended to the file from now on, or from a position in it.',
    params: { from: Type.Optional(Type.Integer({ minimum: 0 })) },
    // The position behind each line lets a client go on where it was cut off: `{ from: at }`.
    yields: Type.Object({ line: Type.String(), at: Type.Integer() }),
  },
  async function* ({ from }, { signal }) {
    const path = process.env.TAIL_FILE;
    if (path === undefined) throw new RpcError(404, 'Set TAIL_FILE to the file to follow');
    const file = await open(path);
    try {
      let at = from ?? (await file.stat()).size;
      let read = at;
      let rest = '';
      const decoder = new StringDecoder();
      const buffer = Buffer.alloc(chunkBytes);
      while (!signal.aborted) {
        const { bytesRead } = await file.read(buffer, 0, chunkBytes, read);
        if (bytesRead === 0) {
          await sleep(everyMs, undefined, { signal });
          continue;
        }
        read += bytesRead;
        const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          at += Buffer.byteLength(line) + 1;
          yield { line, at };
        }
      }
    } finally {
      await file.close();
    }
  },
);
