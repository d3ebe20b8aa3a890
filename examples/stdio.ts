/**
 * JSON-RPC over stdin and stdout, one JSON text a line, for a parent process or a pipe:
 *
 *   echo '{"id":1,"method":"math.add","params":[1,2]}' | node --import tsx examples/stdio.ts
 *
 * The end of the input ends the program, after the last reply. Its log goes to stderr.
 */
import { fileURLToPath } from 'node:url';
import { Dispatcher } from 'tandem-rpc';
import { serveLines } from './lines.ts';

const dispatcher = new Dispatcher({
  modules: [fileURLToPath(new URL('./procedures.ts', import.meta.url))],
  workers: 2,
});
await dispatcher.ready();
const service = serveLines({
  input: process.stdin,
  output: process.stdout,
  answer: (line, signal) => dispatcher.dispatchText(line, { signal }),
  maxLineBytes: 10 * 1024 ** 2,
  maxInFlight: 256,
});
await service.done;
await dispatcher.close();
