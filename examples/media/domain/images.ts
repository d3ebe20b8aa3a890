import { createHash } from 'node:crypto';
import sharp from 'sharp';

// One image takes one thread: the service decides how many are worked on at once, and nothing is kept between them.
sharp.concurrency(1);
sharp.cache(false);

/** More pixels than a good camera has: a small file may claim to hold billions of them. */
const limitInputPixels = 100_000_000;

/**
 * @param bytes an image in any usual format
 * @returns the image as a WebP of at most `width` pixels in width; undefined: the bytes are no image
 */
export async function thumbnail(bytes: Uint8Array, width: number): Promise<Uint8Array | undefined> {
  try {
    return await sharp(bytes, { limitInputPixels })
      .autoOrient()
      .resize({ width, withoutEnlargement: true })
      .webp()
      .toBuffer();
  } catch {
    return undefined;
  }
}

/** The SHA-256 of bytes, in hexadecimal. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
