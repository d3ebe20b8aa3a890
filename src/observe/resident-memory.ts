let last = 0;

/**
 * Resident memory of this process, bytes. Node reads it from a file, which can't be opened while the limit of open
 * files is reached: then it is what it was, or the highest that the system knows of.
 */
export function residentMemory(): number {
  try {
    last = process.memoryUsage.rss();
  } catch {
    if (last === 0) last = process.resourceUsage().maxRSS * 1024;
  }
  return last;
}
