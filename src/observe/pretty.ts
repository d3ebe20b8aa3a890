import { createRequire } from 'node:module';
import { escapeControls } from '../base/escape.ts';

const hidden = new Set([
  'level',
  'event',
  'time',
  'pid',
  'hostname',
  'msg',
  'stack',
  'detail',
  'err',
]);

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeControls(/^[^\s"=]+$/.test(text) ? text : JSON.stringify(value));
}

function stackLines(value: unknown): string {
  const stack =
    typeof value === 'object' && value !== null && 'stack' in value ? value.stack : value;
  if (typeof stack !== 'string') return '';
  // Each line is indented, so that none can be taken for a line of the log.
  const indented = (line: string) => `\n    ${escapeControls(line)}`;
  return stack.split('\n').map(indented).join('');
}

/** Returns a function that makes a JSON line of pino readable: time, level, message, name=value, then stacks. */
export function prettyLine(
  colorize = process.env.NO_COLOR === undefined,
): (json: string) => string {
  const { prettyFactory } = createRequire(import.meta.url)(
    'pino-pretty',
  ) as typeof import('pino-pretty');
  return prettyFactory({
    colorize,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid,hostname',
    hideObject: true,
    messageFormat: (log) => {
      const fields = Object.entries(log)
        .filter(([name]) => !hidden.has(name))
        .map(([name, value]) => ` ${escapeControls(name)}=${fieldText(value)}`);
      const stacks = [log.stack, log.detail, log.err].map(stackLines);
      return escapeControls(String(log.msg)) + fields.join('') + stacks.join('');
    },
  });
}
