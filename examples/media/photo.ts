import sharp from 'sharp';

/** A photo in which everything is grain, so that it is large: 2500 pixels a side make 5 MB of JPEG. Always the same. */
export async function grainyPhoto(side: number): Promise<Uint8Array> {
  const pixels = new Uint32Array(Math.ceil((side * side * 3) / 4));
  let x = 2463534242;
  for (let at = 0; at < pixels.length; at++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    pixels[at] = x;
  }
  const raw = { width: side, height: side, channels: 3 } as const;
  const bytes = new Uint8Array(pixels.buffer, 0, side * side * 3);
  return sharp(bytes, { raw }).jpeg({ quality: 90 }).toBuffer();
}
