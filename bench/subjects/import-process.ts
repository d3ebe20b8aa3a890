import { expose } from '../process/expose.ts';

/** Imports what it is told to, once, and says what that took: microseconds of CPU, bytes of memory. */
const rssBefore = process.memoryUsage.rss();
const before = process.cpuUsage();
await import(process.argv[2] ?? '');
const { user, system } = process.cpuUsage(before);
const imported = { cpuUs: user + system, rssBytes: process.memoryUsage.rss() - rssBefore };

expose(imported);
