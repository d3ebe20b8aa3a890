interface Instruction {
  /** `RUN`, `COPY` and so on. */
  readonly word: string;
  readonly text: string;
}

/** What stands from one FROM to the next. */
export interface Stage {
  /** Behind AS; undefined: the stage has no name. */
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export function readStages(text: string): Stage[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: { name: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === '') throw new Error(`no instruction of a Dockerfile: ${line}`);
    if (word === 'FROM') stages.push({ name: / AS (\w+)$/.exec(rest)?.[1], instructions: [] });
    else if (stages.length === 0) throw new Error(`an instruction before the first FROM: ${line}`);
    else stages.at(-1)?.instructions.push({ word, text: rest });
  }
  return stages;
}

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
  const last = readStages(text).at(-1)?.instructions ?? [];
  const of = (word: string): string[] =>
    last.filter((one) => one.word === word).map((one) => one.text);
  return {
    env: Object.fromEntries(of('ENV').map(pairOf)),
    exposed: of('EXPOSE').flatMap((ports) => ports.split(' ').map(Number)),
    health: of('HEALTHCHECK')[0] ?? '',
    command: JSON.parse(of('CMD')[0] ?? '[]') as string[],
  };
}

/** @param text `NAME=value` */
export function pairOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}
