import { type Command, InvalidArgumentError } from 'commander';
import { duration } from '../../core/config/kinds.ts';
import type { RemoteOptions } from './remote.ts';

const milliseconds = duration(1);

/** Milliseconds of `500ms`, `30s`, `5m`, or of a plain number of milliseconds. */
export function parseDuration(text: string): number {
  const value = milliseconds.check(milliseconds.fromText(text));
  if (value === undefined)
    throw new InvalidArgumentError('Expected a time such as 500ms, 30s or 5m.');
  return value;
}

type Headers = Readonly<Record<string, string>>;

function parseHeader(text: string, before: Headers = {}): Headers {
  const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined || /[\r\n\0]/.test(value)) {
    throw new InvalidArgumentError("Expected 'name: value'.");
  }
  // fetch would throw a TypeError that names neither the option nor the header.
  if (/[^\0-\xff]/.test(value)) {
    throw new InvalidArgumentError(`The value of ${name} holds a character that no header can.`);
  }
  return { ...before, [name.toLowerCase()]: value };
}

/** The options of every command that asks a server. */
export function addRemoteOptions(command: Command): Command {
  return command
    .option(
      '-H, --header <header>',
      "a header to send, 'name: value'; may be repeated",
      parseHeader,
    )
    .option('-t, --timeout <time>', 'how long to wait, such as 500ms or 30s', parseDuration);
}

export function remoteOptions(command: Command): RemoteOptions {
  const { header = {}, timeout } = command.opts<{ header?: Headers; timeout?: number }>();
  return { headers: header, timeoutMs: timeout };
}
