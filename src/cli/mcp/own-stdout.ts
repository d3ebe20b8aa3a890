import { Writable } from 'node:stream';

/**
 * Takes stdout for the protocol. Whatever else is printed there, by modules on this thread or in workers, goes to stderr from
 * now on: one line of it would end the connection.
 */
export function takeStdout(): Writable {
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
