/** A table of photos as CSV (RFC 4180), its first line the names of the columns. */
export interface NewPhoto {
  readonly title: string;
  readonly place: string;
  readonly year: number;
}

export interface Parsed {
  readonly photos: readonly NewPhoto[];
  /** The first line that is no photo, counted from 1; undefined: all are. */
  readonly badLine?: number | undefined;
}

const columns = 'title,place,year';
/** One field, in quotes or not, and what ends it. */
const field = /(?:"([^"]*(?:""[^"]*)*)"|([^",\r\n]*))(,|\r?\n|$)/y;

export function parsePhotos(csv: string): Parsed {
  const [head = '', ...lines] = records(csv);
  if (head === '' || head.join() !== columns) return { photos: [], badLine: 1 };
  const photos = lines.map(([title = '', place = '', year = '', ...more]) =>
    title !== '' && /^\d{4}$/.test(year) && more.length === 0
      ? { title, place, year: Number(year) }
      : undefined,
  );
  const bad = photos.indexOf(undefined);
  return bad === -1 ? { photos: photos as NewPhoto[] } : { photos: [], badLine: bad + 2 };
}

/** The fields of each line; a line that is no CSV has none. */
function records(csv: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (field.lastIndex = 0; field.lastIndex < csv.length; ) {
    const match = field.exec(csv);
    if (match === null) return [...lines, []];
    const [, quoted, plain = '', end] = match;
    line.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}
