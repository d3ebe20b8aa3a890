import { createMcpServer, warnOfNoTools } from '../../app/mcp.ts';
import { isDoneWithin } from '../../base/is-done-within.ts';
import { StartupError } from '../../base/startup-error.ts';
import { type FlagValues, optionsFromFlags, resolveConfig } from '../../config/config.ts';
import { LineService } from '../../mcp/stdio/lines.ts';
import { createLog, type Log } from '../../observe/log.ts';
import { Dispatcher } from '../../service/dispatcher.ts';
import { watchModules } from '../../service/watch.ts';
import { makeOutputLossy } from '../lossy-output.ts';
import { stopOnSignals } from '../signals.ts';
import { surviveFaults } from '../survive-faults.ts';
import { takeStdout } from './own-stdout.ts';

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
  const own = { mcp: true, processes: 1, supervisor: false, metrics: false, hooks: '' } as const;
  const config = resolveConfig({ ...optionsFromFlags(flags), ...own }, env);
  makeOutputLossy([process.stderr]);
  const output = takeStdout();
  const log = createLog({ level: config.logLevel });
  log.open();
  surviveFaults(log, async () => {});
  const dispatcher = new Dispatcher({ modules, log, ...config });
  const server = createMcpServer(dispatcher);
  // Before the workers are ready: a host gives the handshake less time than they may take.
  const lines = new LineService({
    input: process.stdin,
    output,
    service: dispatcher,
    server,
    authText,
    maxBodyBytes: config.maxBodyBytes,
    maxCalls: config.maxCallsPerConnection,
  });
  const end = async (): Promise<number> => {
    const { shutdownGraceMs } = config;
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
  await warnOfNoTools(server, log);
  if (config.watch) await watchModules(dispatcher, log);
  tellReady(log, (await server.catalogue())?.size ?? 0);
  await lines.ended;
  if (stopping.aborted) return;
  // Modules may have left timers and connections open.
  process.exit(await end());
}

function tellReady(log: Log, tools: number): void {
  log.info({ event: 'ready', tools }, 'ready for an agent on stdin');
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
