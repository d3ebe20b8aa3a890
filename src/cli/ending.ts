/**
 * Ends the process once `text` is written. A procedure module may have left timers and connections open, which must
 * not be waited for.
 */
export async function printAndExit(text: string, code = 0): Promise<never> {
  await new Promise((resolve) => process.stdout.write(text, resolve));
  process.exit(code);
}
