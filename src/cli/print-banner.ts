/** Prints a banner, and how long the start took since this process began. The user started this process. */
export function printBanner(text: string): void {
  process.stdout.write(`${text}Ready in ${Math.round(process.uptime() * 1000)} ms.\n`);
}
