import { pathToFileURL } from 'node:url';
import { isOwnFile, isUserFile, withoutGeneration } from './module-url.ts';

const place = /(?:\(| )((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):\d+:\d+\)?$/;

/**
 * Whether what nobody caught was thrown in a procedure module's own time, in a timer or a listener: then none of
 * this package's code was interrupted. Without a file of the modules on its stack nobody can tell; what is no
 * Error is thrown by nobody else.
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
    return ''; // a getter of its own may throw anything
  }
}
