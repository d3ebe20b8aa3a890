import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/**
 * Runs Node in a process of its own, so that other work goes on beside it.
 *
 * @param name begins the message of the error
 * @throws Error with all that the process has printed, where it fails
 */
export async function runNode(name: string, args: readonly string[], cwd: string): Promise<void> {
  await promisify(execFile)(process.execPath, args, { cwd }).catch(
    ({ stdout, stderr }: { stdout: string; stderr: string }) => {
      throw new Error(`${name}: ${stdout}${stderr}`);
    },
  );
}
