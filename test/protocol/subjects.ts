import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { type ConfigOptions, Dispatcher, handleRequest, RpcApp } from '../../src/index.ts';
import { moduleUrl } from '../files.ts';
import inlineRouter from '../fixtures/protocol/inline.ts';
import { patience } from '../patience.ts';
import { isIncluded, type ServerName } from '../servers.ts';
import type { Case } from './case.ts';

/** Something that answers request bodies: the same cases run over each. */
export interface Subject {
  /** Every way a body goes in: the reply's text, undefined where nothing is answered. */
  readonly ways: readonly Way[];
  close(): Promise<void>;
}

export interface Way {
  readonly name: string;
  /** Takes the body as it is; false: takes what JSON.parse makes of it. */
  readonly asText: boolean;
  send(body: Case['body']): Promise<string | undefined>;
}

export type Start = (options?: ConfigOptions) => Promise<Subject>;

function moduleOf(name: string): string {
  return moduleUrl(`test/fixtures/protocol/${name}.ts`);
}

function parsed(name: string, handle: (payload: unknown) => Promise<unknown>): Way {
  return {
    name,
    asText: false,
    send: async (body) => {
      const text = typeof body === 'string' ? body : Buffer.from(body).toString();
      const reply = await handle(JSON.parse(text));
      return reply === undefined ? undefined : JSON.stringify(reply);
    },
  };
}

export async function startDispatcher(
  name: string,
  options: ConfigOptions = {},
): Promise<Dispatcher> {
  const dispatcher = new Dispatcher({
    // A router starts no workers.
    ...(name === 'inline' ? { router: inlineRouter } : { modules: [moduleOf(name)] }),
    workers: 2,
    spareWorkers: 0,
    ...patience,
    logLevel: 'silent',
    // One case brings more inline than the default allows.
    maxInlineParamsBytes: 4 * 1024 ** 2,
    ...options,
  });
  await dispatcher.ready();
  return dispatcher;
}

function dispatcherSubject(name: string): Start {
  return async (options) => {
    const dispatcher = await startDispatcher(name, { workers: 1, ...options });
    return {
      ways: [
        { name: 'text', asText: true, send: (body) => dispatcher.dispatchText(body) },
        { name: 'bytes', asText: true, send: (body) => dispatcher.dispatchText(toBytes(body)) },
        parsed('payload', (payload) => dispatcher.dispatch(payload)),
      ],
      close: () => dispatcher.close(),
    };
  };
}

function toBytes(body: Case['body']): Uint8Array {
  return typeof body === 'string' ? Buffer.from(body) : body;
}

function httpSubject(transport: ServerName): Start {
  return async (options) => {
    const app = new RpcApp({
      modules: [moduleOf('auto')],
      workers: 1,
      spareWorkers: 0,
      ...patience,
      logLevel: 'silent',
      maxInlineParamsBytes: 4 * 1024 ** 2,
      port: 0,
      transport,
      ...options,
    });
    const { url } = await app.listen();
    assert.equal(app.transport, transport);
    const agent = new Agent({ keepAlive: true });
    return {
      ways: [{ name: 'http', asText: true, send: (body) => post(url, toBytes(body), agent) }],
      close: async () => {
        agent.destroy();
        await app.close();
      },
    };
  };
}

/** Posts a body; undefined for the 204 of what is not answered. */
function post(url: string, body: Uint8Array, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.byteLength };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const type = response.headers['content-type'];
        if (response.statusCode === 204 && text === '') resolve(undefined);
        else if (response.statusCode === 200 && type === 'application/json') resolve(text);
        else reject(new Error(`${response.statusCode} ${type}: ${text.slice(0, 200)}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const handleRequestSubject: Start = async () => ({
  ways: [parsed('payload', (payload) => handleRequest(payload, inlineRouter))],
  close: async () => {},
});

export interface Started {
  /** The server of this package that it has. */
  readonly server?: ServerName;
  readonly start: Start;
  readonly maxReplyBytes: number;
}

/** 25 MiB, as handleRequest has it. */
const defaultReplyBytes = 26_214_400;
/** The others are given less: what is bounded is the same, and megabytes take long. */
const maxReplyBytes = 2_000_000;

function bounded(start: Start): Started {
  return { start: (options) => start({ maxReplyBytes, ...options }), maxReplyBytes };
}

type Named = readonly [name: string, subject: Started];

export const functionSubject: Named = [
  'handleRequest',
  { start: handleRequestSubject, maxReplyBytes: defaultReplyBytes },
];

export const dispatcherSubjects: readonly Named[] = [
  ['Dispatcher, inline', bounded(dispatcherSubject('inline'))],
  ['Dispatcher, pooled', bounded(dispatcherSubject('worker'))],
];

const servers: readonly Named[] = [
  ['RpcApp on uWS', { ...bounded(httpSubject('uws')), server: 'uws' }],
  ['RpcApp on node:http', { ...bounded(httpSubject('node')), server: 'node' }],
];

/** `auto`: synchronous procedures in the pool, asynchronous ones inline. */
export const appSubjects = servers.filter(([, subject]) => isIncluded(subject));
