/** `images.convert`: an image in several widths, made in a worker, with the progress while it is made. */
import sharp from 'sharp';
import { Router, RpcError, Type } from 'tandem-rpc';

const router = new Router();
export default router;

const widths = [1600, 1200, 800, 400, 200];

router.rpc(
  {
    name: 'images.convert',
    params: { data: Type.Base64({ maxBytes: 7_000_000 }) },
    yields: Type.Object({ done: Type.Integer(), of: Type.Integer(), width: Type.Integer() }),
    returns: Type.Array(Type.Object({ width: Type.Integer(), webp: Type.Base64() })),
    placement: 'worker',
  },
  async function* ({ data }, { signal }) {
    const made: { width: number; webp: Uint8Array }[] = [];
    for (const width of widths) {
      // Who has left waits for no further image.
      if (signal.aborted) break;
      const webp = await sharp(data)
        .resize({ width, withoutEnlargement: true })
        .webp()
        .toBuffer()
        .catch(() => {
          throw new RpcError(422, 'Not an image');
        });
      made.push({ width, webp });
      yield { done: made.length, of: widths.length, width };
    }
    return made;
  },
);
