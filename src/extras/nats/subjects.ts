import { createHash } from 'node:crypto';

/** The subjects of one service: docs/protocol.md, "NATS". */
export class Subjects {
  readonly service: string;
  /** A member to all gateways. */
  readonly heartbeat: string;
  /** A gateway asks all members for their heartbeats. */
  readonly hello: string;

  constructor(service: string) {
    this.service = service;
    this.heartbeat = `${service}.hb`;
    this.hello = `${service}.hi`;
  }

  /** Gateways to one member. */
  toMember(member: string): string {
    return `${this.service}.m.${member}`;
  }

  /** Members to one gateway: of every member, the 503s of frames, documents. */
  allToGateway(gateway: string): string {
    return `${this.service}.g.${gateway}.>`;
  }

  toGateway(gateway: string, member: string): string {
    return `${this.service}.g.${gateway}.${member}`;
  }

  /** A gateway asks for what describes a contract: any member that serves it, or one. */
  document(contract: string, member?: string): string {
    const name = member === undefined ? contract : `${contract}_${member}`;
    return `${this.service}.doc.${name}`;
  }
}

/** The name of a contract: a hash of the document that describes it. */
export function contractOf(document: Uint8Array): string {
  return `h${createHash('sha256').update(document).digest('hex').slice(1)}`;
}

/** Whether a name may become part of a subject: those of processes are letters and digits. */
export function isNuid(name: string): boolean {
  return /^\w{1,64}$/.test(name);
}

/**
 * Whether calls of a procedure can have a subject of their own. The server drops the connection of who subscribes to a
 * subject with an empty token, and again at each reconnect.
 */
export function hasSubject(procedure: string): boolean {
  return !procedure.split('.').includes('');
}

/**
 * Whether an answer may go to a subject that a message names. The sender names any, and the server does not ask whether the
 * sender itself may publish there; so a member would publish for it to whatever subjects the member may.
 *
 * @param prefixes first tokens of subjects at which clients wait, beside `_INBOX`
 */
export function mayAnswer(reply: string, prefixes: readonly string[] = []): boolean {
  return ['_INBOX', ...prefixes].some((prefix) => reply.startsWith(`${prefix}.`));
}
