import { Writable } from 'node:stream';
import { maxCallsPerConnection } from '../core/base/overloads.ts';
import { StartupError } from '../core/base/startup-error.ts';
import { isDoneWithin } from '../core/base/timer.ts';
import { type FlagValues, optionsFromFlags, resolveConfig } from '../core/config/config.ts';
import { createLog } from '../core/observe/log.ts';
import { Dispatcher } from '../core/service/dispatcher.ts';
import { watchModules } from '../core/service/watch.ts';
import { LineService } from '../extras/mcp/lines.ts';
import { McpServer } from '../extras/mcp/server.ts';
import { makeOutputLossy } from './lossy-output.ts';
import { stopOnSignals } from './signals.ts';
import { surviveFaults } from './survive-faults.ts';

/** The variable whose JSON is `context.auth`. */
const authVariable = 'TANDEM_MCP_AUTH';

/** How long the last answers may take to be read. */
const lastAnswersMs = 1000;

/** Serves agents on stdin and stdout until stdin ends, or a signal ends it. */
export async function serveMcp(
  modules: string[],
  flags: FlagValues,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const authText = authOf(env[authVariable]);
  // Beside this process there is no other, nothing to be scraped, and nobody who could be asked who calls.
  const own = {
    mcp: true,
    processes: 1,
    supervisor: false,
    metrics: false,
    hooks: '',
    mcpAuthorizationServers: [],
    mcpScopes: [],
  } as const;
  const config = resolveConfig({ ...optionsFromFlags(flags), ...own }, env);
  makeOutputLossy([process.stderr]);
  const output = takeStdout();
  const log = createLog({ level: config.logLevel });
  log.open();
  surviveFaults(log, async () => {});
  const dispatcher = new Dispatcher({ modules, log, ...config });
  const server = new McpServer(dispatcher);
  // Before the workers are ready: a host gives the handshake less time than they may take.
  const lines = new LineService({
    input: process.stdin,
    output,
    service: dispatcher,
    server,
    authText,
    maxBodyBytes: config.maxBodyBytes,
    maxCalls: maxCallsPerConnection,
  });
  const { shutdownGraceMs } = config;
  const end = async (): Promise<number> => {
    const isDone = await isDoneWithin(lines.done, shutdownGraceMs);
    await dispatcher.close(isDone ? shutdownGraceMs : 0);
    await isDoneWithin(lines.done, lastAnswersMs);
    return 0;
  };
  const stop = (): Promise<number> => {
    lines.stop();
    return end();
  };
  const stopping = stopOnSignals({ stop, kill: () => {} }, log);
  try {
    await dispatcher.ready();
  } catch (error) {
    // A signal during the start makes it fail. The failure is not reported then.
    if (stopping.aborted) return;
    throw error;
  }
  await server.warnOfTools(log);
  if (config.watch) await watchModules(dispatcher, log);
  const tools = (await server.catalogue())?.size ?? 0;
  log.info({ event: 'ready', tools }, 'ready for an agent on stdin');
  await lines.ended;
  if (stopping.aborted) return;
  // Modules may have left timers and connections open.
  process.exit(await end());
}

/** @throws StartupError that does not show the text: it may hold a secret */
function authOf(text: string | undefined): string | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    throw new StartupError(`${authVariable}: expected JSON, such as {"sub":"me"}`);
  }
}

/**
 * Takes stdout for the protocol. Whatever else is printed there, by modules on this thread or in workers, goes to stderr from
 * now on: one line of it would end the connection.
 */
function takeStdout(): Writable {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  // The streams of workers lead into this one, too.
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  const own = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => {
      write(chunk, done);
    },
  });
  const leave = (): void => {
    own.destroy();
  };
  stdout.on('error', leave);
  stdout.on('close', leave);
  return own;
}
