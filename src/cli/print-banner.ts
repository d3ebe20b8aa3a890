/** Prints a banner, and how long it took from the start of this process, which is the one that was asked to serve. */
export function printBanner(text: string): void {
  process.stdout.write(`${text}Ready in ${Math.round(process.uptime() * 1000)} ms.\n`);
}
