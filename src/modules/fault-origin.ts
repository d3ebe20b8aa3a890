import { pathToFileURL } from 'node:url';
import { isOwnFile, isUserFile, withoutGeneration } from './module-url.ts';

const place = /(?:\(| )((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/;

/**
 * Whether an uncaught error was thrown by a procedure module in a timer or a listener of its own: then no code of this
 * package was interrupted. The stack must name a file of the modules and none of this package. A thrown value that is
 * not an Error counts as the modules': this package throws only Errors.
 */
export function threwInModules(error: unknown): boolean {
  if (!(error instanceof Error)) return true;
  const urls = stackOf(error)
    .split('\n')
    .flatMap((line) => place.exec(line)?.[1] ?? [])
    .map((file) => withoutGeneration(file.startsWith('file:') ? file : pathToFileURL(file).href));
  return urls.some(isUserFile) && !urls.some(isOwnFile);
}

function stackOf(error: Error): string {
  try {
    return String(error.stack);
  } catch {
    return ''; // `stack` may be a getter that throws
  }
}
