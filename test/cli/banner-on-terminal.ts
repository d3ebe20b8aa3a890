import assert from 'node:assert/strict';
import { quote } from '../../src/cli/banner.ts';
import { modulePath, nodeFlags } from '../files.ts';
import { hasTerminal, startOnTerminal } from './process.ts';

export interface BannerOnTerminal {
  readonly banner: string;
  readonly url: string;
  readonly threadsText: string;
  /** Types Ctrl+C. */
  readonly close: () => Promise<void>;
}

/** Runs `tandem serve` on a terminal until its banner is there: that, and its first line taken apart. */
export async function bannerOnTerminal(args: readonly string[]): Promise<BannerOnTerminal> {
  const command = [process.execPath, ...nodeFlags, modulePath('src/cli/main.ts'), 'serve'];
  const few = ['--port', '0', '--workers', '1', '--spare-workers', '0'];
  const line = ['exec', ...command, ...few, ...args].map(quote).join(' ');
  const terminal = startOnTerminal(line);
  const [, url = '', threadsText = ''] = await terminal.seen(
    'stdout',
    /listens on (http:\S+) (\([^\r]*\))\r\n.*Ready in \d+ ms\.\r\n/s,
  );
  const close = async (): Promise<void> => {
    terminal.child.stdin?.write('\x03');
    assert.equal((await terminal.exit).code, 0);
  };
  return { banner: terminal.stdout.replaceAll('\r\n', '\n'), url, threadsText, close };
}

export const withTerminal = { skip: hasTerminal ? false : 'needs script of util-linux' };
