import { findNatsServer, needs } from '../nats-server.ts';
import { tableOf } from './report.ts';
import { soakNats } from './soak.ts';

/** The soak as a command: tells of each fault, prints the table. @returns the exit code */
export async function runNatsSoak(): Promise<number> {
  if (findNatsServer() === undefined) {
    console.error(needs);
    return 1;
  }
  const rows = await soakNats(({ fault, counts }) => {
    console.error(`${fault}: ${counts.calls} calls, ${counts.violations.length} violations`);
    for (const violation of counts.violations.slice(0, 20)) console.error(`  ${violation}`);
  });
  console.log(tableOf(rows));
  return rows.some(({ counts }) => counts.violations.length > 0) ? 1 : 0;
}
