import { parse } from 'yaml';

interface ComposeService {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>> | readonly string[];
  readonly ports?: readonly string[];
  readonly scale?: number;
  readonly stop_grace_period?: string;
  readonly volumes?: readonly string[];
}

/** The services of a compose file by their names. */
export function readCompose(text: string): Readonly<Record<string, ComposeService>> {
  return (parse(text, { merge: true }) as { services: Record<string, ComposeService> }).services;
}

/** @param variables what the `${NAMES}` in the values stand for */
export function environmentOf(
  service: ComposeService | undefined,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const own = Object.entries(service?.environment ?? {});
  return Object.fromEntries(
    own.map(([key, value]) => [
      key,
      value.replace(/\$\{(\w+)\}/g, (_all: string, name: string) => {
        const filled = variables[name];
        if (filled === undefined) throw new Error(`nobody says what ${name} is`);
        return filled;
      }),
    ]),
  );
}
