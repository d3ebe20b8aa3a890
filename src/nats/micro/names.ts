/**
 * Whether calls of a procedure can have a subject of their own. The server drops the connection of who subscribes to a
 * subject with an empty token, and again at each reconnect.
 */
export function hasSubject(procedure: string): boolean {
  return !procedure.split('.').includes('');
}

/** The name of an endpoint: micro services take letters, digits, `-` and `_`. */
export function endpointName(procedure: string): string {
  return procedure.replaceAll(/[./:]/g, '_');
}

/** Subjects between gateways and members, of whatever service; those of the endpoints; those of the server. */
const notForAnswers = /^\$|^[\w-]+\.(?:m|g|hb|hi|doc|call|rpc)(?:\.|$)/;

/**
 * Whether an answer may go to a subject that a message names. The sender names any, and the server does not ask whether the
 * sender itself may publish there; so a member would publish for it what only gateways and members may.
 */
export function mayAnswer(reply: string): boolean {
  return reply !== '' && !notForAnswers.test(reply);
}
