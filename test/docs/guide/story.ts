/**
 * Reads a page of the guide as a story: its files and its commands, in their order. The pages use only these blocks:
 *
 *   ts, js, python, go, json, yaml and so on           a whole file, whose first line is a comment with its name
 *   console                                            commands behind `$ `, each with what it prints
 *   text                                               a picture: nothing to run
 */

interface File {
  readonly kind: 'file';
  readonly name: string;
  readonly text: string;
}

interface Command {
  readonly kind: 'command';
  readonly line: string;
  /** What must be printed; '' says nothing about it. */
  readonly printed: string;
}

export type Step = File | Command;

const block = /^```(\w*)\n(.*?)^```$/gms;
/** `// notes.ts`, `# compose.yaml`, `-- tables.sql`. */
const nameLine = /^(?:\/\/|#|--) ([\w./-]+\.\w+|Dockerfile)\n/;
const languages = ['ts', 'js', 'python', 'go', 'json', 'sql', 'yaml', 'ini', 'dockerfile', 'nginx'];

/** @throws Error for a block that is no part of a story: what stands in the guide is run */
export function parseStory(page: string): Step[] {
  return [...page.matchAll(block)].flatMap(([, language = '', text = '']): Step[] => {
    if (language === 'text') return [];
    if (language === 'console') return parseCommands(text);
    const [line = '', name] = nameLine.exec(text) ?? [];
    if (name === undefined || !languages.includes(language)) {
      throw new Error(`a block of ${language || 'no language'} that nothing runs:\n${text}`);
    }
    // JSON has no comments: the name is for the reader.
    return [{ kind: 'file', name, text: language === 'json' ? text.slice(line.length) : text }];
  });
}

/** A command goes on in the next line behind a backslash, and while a single quote is open. */
function parseCommands(text: string): Step[] {
  const steps: { kind: 'command'; line: string; printed: string }[] = [];
  let isOpen = false;
  for (const row of text.trimEnd().split('\n')) {
    const last = steps.at(-1);
    if (isOpen && last !== undefined) last.line += `\n${row}`;
    else if (row.startsWith('$ ')) steps.push({ kind: 'command', line: row.slice(2), printed: '' });
    else if (last !== undefined) last.printed += `${row}\n`;
    else throw new Error(`output without a command: ${row}`);
    const line = steps.at(-1)?.line ?? '';
    isOpen = line.endsWith('\\') || line.split("'").length % 2 === 0;
    // A remark for the reader.
    if (!isOpen && steps.at(-1)?.printed === '') {
      const command = steps.at(-1);
      if (command !== undefined) command.line = line.replace(/ {2,}# .*$/, '');
    }
  }
  return steps;
}

/**
 * What is printed, as a pattern: `…` is any text within a line, a line that is `…` alone any lines, or none. JSON may be
 * broken into lines for the reader where the command prints one line.
 */
export function printedPattern(printed: string): RegExp {
  const isJson = /^[[{]/.test(printed);
  const text = isJson ? printed.trimEnd().replace(/\n */g, '') : printed.trimEnd();
  const pattern = text
    .replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
    // Of what comes behind the last line that counts, a server may have printed nothing yet.
    .replace(/\n…$/, '(?:\\n[^]*)?')
    .replace(/^…(?:\n|$)/gm, '(?:.*\\n)*?.*')
    .replaceAll('…', '.*?');
  return new RegExp(`^${pattern}$`);
}
