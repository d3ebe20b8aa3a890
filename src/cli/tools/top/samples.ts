/** One line of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** The samples of a text in Prometheus's format. All other lines are skipped. */
export function readSamples(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const row of text.split('\n')) {
    const match = row.startsWith('#') ? null : line.exec(row.trim());
    if (match === null) continue;
    const [, name = '', list = '', number = ''] = match;
    const labels: Record<string, string> = Object.create(null);
    for (const [, key = '', value = ''] of list.matchAll(label)) labels[key] = unescaped(value);
    samples.push({ name, labels, value: toNumber(number) });
  }
  return samples;
}

function unescaped(value: string): string {
  return value.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toNumber(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
