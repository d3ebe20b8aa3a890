/**
 * Ends the process once `text` was written: a procedure module may have left timers and connections open,
 * which are nothing to wait for.
 */
export async function printAndExit(text: string, code = 0): Promise<never> {
  await new Promise((resolve) => process.stdout.write(text, resolve));
  process.exit(code);
}
