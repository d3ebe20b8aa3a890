import { expose } from '../process/expose.ts';
import { Siege, type SiegeJob } from './siege.ts';

let siege: Siege | undefined;

async function lay(job: SiegeJob): Promise<void> {
  siege = await Siege.lay(job);
}

/** How many besiegers are connected. */
function held(): number {
  return siege?.held ?? 0;
}

function lift(): void {
  siege?.lift();
  siege = undefined;
}

expose(undefined, { lay, held, lift });
