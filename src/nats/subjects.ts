/** The subjects of one service: docs/protocol.md, "NATS". */
export class Subjects {
  readonly service: string;

  constructor(service: string) {
    this.service = service;
  }

  /** A member to all gateways. */
  get heartbeat(): string {
    return `${this.service}.hb`;
  }

  /** A gateway asks all members for their heartbeats. */
  get hello(): string {
    return `${this.service}.hi`;
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

  /** Where the server says that nobody takes the frame `n`, or a message that is no frame (`n` 0). */
  noResponders(gateway: string, member: string, n: number): string {
    return `${this.service}.g.${gateway}.${member}.${n}`;
  }

  /** A gateway asks for what describes a contract. */
  document(contract: string): string {
    return `${this.service}.doc.${contract}`;
  }
}

/** Whether a name may become part of a subject: those of processes are letters and digits. */
export function isNuid(name: string): boolean {
  return /^\w{1,64}$/.test(name);
}
