/** What a process needs beyond the grace time, milliseconds: last replies, ends of threads, teardowns. */
export const endingMs = 5000;
