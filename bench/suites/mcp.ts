import { probe, type Question } from '../load/probe.ts';
import type { Goal } from '../load/request.ts';
import { Wrk, wrkVersion } from '../load/wrk.ts';
import type { Options } from '../options.ts';
import { Child } from '../process/child.ts';
import { microseconds, milliseconds, type Reading, rate } from '../readings.ts';
import type { SeriesSet } from '../series.ts';
import { ratios } from '../statistics.ts';
import type { Subject } from '../subject.ts';
import { firstId, operands, replyTo } from '../subjects/fixed.ts';
import { addCalls } from '../subjects/questions.ts';
import type { Plan, Session, Suite } from '../suite.ts';
import { atLeast, atMost, given, type Target } from '../targets.ts';

const subjects: readonly Subject[] = [
  { id: 'rpc', label: 'Tandem, JSON-RPC', role: 'floor' },
  { id: 'mcp', label: 'Tandem, MCP', role: 'ours' },
];

const inProcess = 'one call in process';
const http = 'HTTP, 64 connections';
const listing = 'a list of 10,000 tools';
const own = 'CPU time';

function plan({ full, duration, rounds }: Options): Plan {
  const seconds = duration ?? (full ? 1 : 0.5);
  const both = ['rpc', 'mcp'];
  const cases = [
    { name: inProcess, subjects: both, seconds },
    ...(wrkVersion() === undefined ? [] : [{ name: http, subjects: both, seconds }]),
    { name: listing, subjects: ['mcp'], seconds: 1 },
  ];
  return { subjects, cases, rounds: rounds ?? (full ? 7 : 3), openSeconds: 3 };
}

/** The same calls as tools, as a legacy client asks: wrk sends the same headers with every request. */
function toolCalls(): readonly Question[] {
  return Array.from({ length: 32 }, (_, n) => {
    const params = { name: 'add', arguments: operands(n) };
    const { result } = replyTo(n);
    return {
      body: JSON.stringify({ jsonrpc: '2.0', id: firstId + n, method: 'tools/call', params }),
      expected: {
        jsonrpc: '2.0',
        id: firstId + n,
        result: {
          content: [{ type: 'text', text: String(result) }],
          structuredContent: { result },
        },
      },
    };
  });
}

const connections = 64;

class McpSession implements Session {
  readonly #process: Child;
  readonly #wrk = new Wrk();
  readonly #goals: Readonly<Record<string, Goal>>;

  private constructor(process: Child, goals: Readonly<Record<string, Goal>>) {
    this.#process = process;
    this.#goals = goals;
  }

  static async open(): Promise<McpSession> {
    const process = await Child.start('subjects/mcp-process');
    const port = process.ready as number;
    const { path, questions } = addCalls('json-rpc', 'add');
    return new McpSession(process, {
      rpc: await probe(port, path, questions),
      mcp: await probe(port, '/mcp', toolCalls()),
    });
  }

  async measure(subject: string, name: string, seconds: number): Promise<readonly Reading[]> {
    if (name === inProcess) {
      const kind = subject === 'rpc' ? 'plain' : 'mcp';
      const us = await this.#process.call<number>('share', { kind, seconds });
      return [microseconds('time', own, us)];
    }
    if (name === listing) {
      const { allMs, turnMs } = await this.#process.call<{ allMs: number; turnMs: number }>(
        'catalogue',
      );
      return [milliseconds('all pages', own, allMs), milliseconds('longest turn', own, turnMs)];
    }
    const goal = this.#goals[subject];
    if (goal === undefined) throw new Error(`no goal for ${subject}`);
    const { perSecond, tool } = await this.#wrk.run(goal, connections, seconds, false);
    return [rate('requests', tool, perSecond)];
  }

  async close(): Promise<void> {
    this.#wrk.close();
    await this.#process.stop();
  }
}

function report(series: SeriesSet): readonly Target[] {
  const plain = series.samples(inProcess, 'rpc', 'time');
  const asTool = series.samples(inProcess, 'mcp', 'time');
  const rpc = series.samples(http, 'rpc', 'requests');
  const mcp = series.samples(http, 'mcp', 'requests');
  return given(
    [
      'MCP’s own share of a call',
      atMost(10, 'us'),
      own,
      plain && asTool?.map((us, i) => us - (plain[i] ?? 0)),
    ],
    ['requests over MCP, over JSON-RPC', atLeast(0.5), 'wrk', rpc && mcp && ratios(mcp, rpc)],
    [
      'longest turn while 10,000 tools are listed',
      atMost(50, 'ms'),
      own,
      series.samples(listing, 'mcp', 'longest turn'),
    ],
  );
}

export const mcp: Suite = {
  name: 'mcp',
  about: 'Procedures as tools for agents, beside the same calls by JSON-RPC; a long catalogue.',
  plan,
  open: () => McpSession.open(),
  report,
};
