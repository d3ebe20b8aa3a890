/** What a Dockerfile says of the image that its last stage makes. */
export interface Image {
  readonly env: Readonly<Record<string, string>>;
  readonly exposed: readonly number[];
  /** The command of the health check, as text. */
  readonly health: string;
  /** The exec form of CMD. */
  readonly command: readonly string[];
}

export function readDockerfile(text: string): Image {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const of = (word: string): string[] =>
    last.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  return {
    env: Object.fromEntries(
      of('ENV').map((pair) => [
        pair.slice(0, pair.indexOf('=')),
        pair.slice(pair.indexOf('=') + 1),
      ]),
    ),
    exposed: of('EXPOSE').flatMap((ports) => ports.split(' ').map(Number)),
    health: of('HEALTHCHECK')[0] ?? '',
    command: JSON.parse(of('CMD')[0] ?? '[]') as string[],
  };
}
