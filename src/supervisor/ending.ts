/** Milliseconds that a process needs after the grace time: for its last replies, the ends of its threads, teardowns. */
export const endingMs = 5000;
