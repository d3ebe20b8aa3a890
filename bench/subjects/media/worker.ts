/** What burns CPU, for the pools of the rivals. */
import { digestOf, Library, parsePhotos, thumbnail } from './domain.ts';

const library = new Library(process.env.MEDIA_LIBRARY ?? ':memory:');

export async function thumb({ data, width }: { data: string; width: number }) {
  const bytes = await thumbnail(Buffer.from(data, 'base64'), width);
  return bytes && Buffer.from(bytes).toString('base64');
}

export function digest(data: string) {
  return digestOf(Buffer.from(data, 'base64'));
}

export function load({ csv, owner }: { csv: string; owner: string }) {
  const { photos, badLine } = parsePhotos(csv);
  return { badLine, added: badLine === undefined ? library.addPhotos(owner, photos) : 0 };
}
