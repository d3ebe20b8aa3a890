let last = 0;

/**
 * Resident memory of this process, bytes. Node reads it from a file, which can't be opened while the process has
 * reached its limit of open files. Then the last reading is returned, or, without one, the peak that the system reports.
 */
export function residentMemory(): number {
  try {
    last = process.memoryUsage.rss();
  } catch {
    if (last === 0) last = process.resourceUsage().maxRSS * 1024;
  }
  return last;
}
