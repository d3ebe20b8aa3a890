import { loadUws } from '../../src/server/http/uws/load.ts';
import { wrkVersion } from '../load/wrk.ts';
import type { Options } from '../options.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import { transportServers } from '../subjects/servers.ts';
import type { Plan, Suite } from '../suite.ts';
import { atLeast, given, type Target } from '../targets.ts';
import { HttpSession } from './http.ts';

const main = '64 connections';
/** Versions of Node for which there is no binary have rows for node:http alone. */
const { uws } = await loadUws();
const servers = transportServers.filter(
  ({ id }) => uws !== undefined || (id !== 'tandem' && id !== 'tandem-pooled'),
);

function plan({ duration, rounds, full }: Options): Plan {
  const subjects = servers.map(({ id }) => id);
  const seconds = (duration ?? (full ? 0.6 : 0.35)) * (wrkVersion() === undefined ? 1 : 2);
  const cases = ['1 connection', '8 connections', main].map((name) => ({
    name,
    subjects,
    seconds,
  }));
  return { subjects: servers, cases, rounds: rounds ?? 5, openSeconds: 4 };
}

function report(series: SeriesSet): readonly Target[] {
  const tool = series.all.some((one) => one.tool === 'wrk') ? 'wrk' : 'autocannon';
  const over = (a: string, b: string): number[] | undefined => {
    const above = series.samples(main, a, 'requests', tool);
    const below = series.samples(main, b, 'requests', tool);
    return above && below && ratios(above, below);
  };
  return given(
    [
      'on node:http: inline add over fastify, requests/s at 64 connections',
      atLeast(1.2),
      tool,
      over('tandem-node', 'fastify'),
    ],
    [
      'on node:http: pooled add over fastify + piscina, requests/s at 64 connections',
      atLeast(1.2),
      tool,
      over('tandem-node-pooled', 'fastify-piscina'),
    ],
    [
      'on node:http: pooled add over inline fastify, requests/s at 64 connections',
      atLeast(1.2),
      tool,
      over('tandem-node-pooled', 'fastify'),
    ],
  );
}

export const transports: Suite = {
  name: 'transports',
  about: `The tiny call on both servers, beside Fastify, on Node ${process.versions.node}.`,
  plan,
  open: (planned) => HttpSession.open(servers, planned),
  report,
};
