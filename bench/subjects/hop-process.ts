import { expose } from '../process/expose.ts';
import { type HopSubject, variety } from './hop/contract.ts';
import { createPiscina } from './hop/piscina.ts';
import { createPort } from './hop/port.ts';
import { createTandem } from './hop/tandem.ts';

export interface HopJob {
  readonly inFlight: number;
  readonly seconds: number;
}

export interface HopResult {
  readonly perSecond: number;
  /** CPU time of all threads, microseconds. */
  readonly cpuPerCall: number;
}

const makers: Readonly<Record<string, () => HopSubject | Promise<HopSubject>>> = {
  tandem: () => createTandem('pooledAdd'),
  'tandem-inline': () => createTandem('add'),
  piscina: () => createPiscina(undefined),
  'piscina-16': () => createPiscina(16),
  port: createPort,
};

const make = makers[process.argv[2] ?? ''];
if (make === undefined) throw new Error(`no subject ${process.argv[2]}`);
const subject = await make();

async function run({ inFlight, seconds }: HopJob): Promise<HopResult> {
  let calls = 0;
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const until = began + seconds * 1000;
  const lane = async (): Promise<void> => {
    while (performance.now() < until) await subject.call(calls++ % variety);
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond: calls / (elapsed / 1000), cpuPerCall: (user + system) / calls };
}

expose(undefined, { run });
