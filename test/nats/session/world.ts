import assert from 'node:assert/strict';
import {
  type Ack,
  type FrameMark,
  GatewaySession,
  MemberSession,
  type SyncAnswer,
  type SyncRequest,
} from '../../../src/extras/nats/session.ts';

type ToMember =
  | { kind: 'frame'; mark: FrameMark; tickets: number[]; isCopied: boolean }
  | { kind: 'sync'; request: SyncRequest }
  | { kind: 'ack'; ack: Ack };

type ToGateway =
  | { kind: 'replies'; session: number; n: number; got: number; replies: Reply[] }
  | { kind: 'synced'; answer: SyncAnswer }
  | { kind: 'got'; session: number; got: number }
  | { kind: 'gap' };

interface Reply {
  readonly ticket: number;
  readonly isLost: boolean;
}

interface Call {
  runs: number;
  readonly answers: ('result' | 'lost')[];
}

/** What may happen between a gateway and a member. Numbers choose among what there is. */
export type Event =
  | { type: 'submit' }
  | { type: 'send' }
  | { type: 'tick' }
  | { type: 'outage' }
  | { type: 'forget' }
  | { type: 'giveUp' }
  | { type: 'shrink' }
  | { type: 'finish'; at: number }
  | { type: 'deliver' | 'drop' | 'repeat' | 'refuse'; to: 'member' | 'gateway'; at: number };

/** What a member keeps of replies. That one is lost is the shorter message. */
const [resultBytes, lostBytes] = [Buffer.from('the result'), Buffer.from('-')];

/** Both sides of a session, a network that loses, repeats and reorders what it likes, and a journal of the calls. */
export class World {
  readonly calls: Call[] = [];
  #gateway = new GatewaySession();
  #member: MemberSession | undefined;
  readonly #toMember: ToMember[] = [];
  readonly #toGateway: ToGateway[] = [];
  /** Calls that wait at the gateway. */
  #waiting: number[] = [];
  /** What the gateway waits for: calls by ticket, with the frame of each. */
  readonly #inFlight = new Map<number, { call: number; n: number }>();
  /** Tickets of the calls that run at the member. */
  #running: number[] = [];
  #tickets = 0;
  #sessions = 0;
  readonly #callOf = new Map<number, number>();

  happen(event: Event): void {
    if (event.type === 'submit') {
      this.#waiting.push(this.calls.length);
      this.calls.push({ runs: 0, answers: [] });
    } else if (event.type === 'send') this.#send();
    else if (event.type === 'tick') this.#tick();
    else if (event.type === 'finish') this.#finish(event.at);
    else if (event.type === 'outage') {
      this.#toMember.length = 0;
      this.#toGateway.length = 0;
      this.#gateway.interrupt();
    } else if (event.type === 'forget') {
      this.#member = undefined;
      this.#running = [];
    } else if (event.type === 'giveUp') {
      for (const ticket of this.#inFlight.keys()) this.#answer(ticket, 'lost');
      this.#gateway = new GatewaySession(this.#gateway.end);
    } else if (event.type === 'shrink') {
      this.#member?.shrink(resultBytes.byteLength, () => lostBytes);
    } else this.#disturb(event);
  }

  /** From here on nothing is lost: everything comes in order until each call has its answer. */
  heal(): void {
    for (let rounds = 0; this.calls.some(({ answers }) => answers.length === 0); rounds++) {
      assert.ok(rounds < 20, `no end: ${JSON.stringify(this.calls)}`);
      this.#tick();
      while (this.#toMember.length > 0) this.#take('member', 0);
      while (this.#running.length > 0) this.#finish(0);
      while (this.#toGateway.length > 0) this.#take('gateway', 0);
      // What has been unacknowledged for so long is taken for lost.
      if (this.#gateway.unackedSince !== undefined) this.#gateway.interrupt();
      if (this.#member?.isAcked === false) this.#gateway.interrupt();
      this.#send();
    }
  }

  #send(): void {
    if (!this.#gateway.isOpen || this.#waiting.length === 0) return;
    const calls = this.#waiting;
    this.#waiting = [];
    const tickets = calls.map((call) => {
      this.#callOf.set(this.#tickets, call);
      return this.#tickets++;
    });
    const mark = this.#gateway.send(tickets, tickets.length, 0);
    for (const ticket of tickets) {
      this.#inFlight.set(ticket, { call: this.#callOf.get(ticket) as number, n: mark.n });
    }
    this.#toMember.push({ kind: 'frame', mark, tickets, isCopied: false });
  }

  #tick(): void {
    if (!this.#gateway.isOpen) this.#toMember.push({ kind: 'sync', request: this.#gateway.sync });
    else if (this.#gateway.owesAck || this.#inFlight.size > 0) {
      this.#toMember.push({ kind: 'ack', ack: this.#gateway.ack() });
    }
    if (this.#member !== undefined) {
      const { session, got } = this.#member;
      this.#toGateway.push({ kind: 'got', session, got });
    }
  }

  #finish(at: number): void {
    const [ticket] = this.#running.splice(at % Math.max(1, this.#running.length), 1);
    if (ticket === undefined || this.#member === undefined) return;
    const { session, got } = this.#member;
    this.#member.keep([ticket], (n) => {
      const replies = [{ ticket, isLost: false }];
      this.#toGateway.push({ kind: 'replies', session, n, got, replies });
      return resultBytes;
    });
  }

  #disturb({ type, to, at }: Extract<Event, { at: number; to: string }>): void {
    const queue: (ToMember | ToGateway)[] = to === 'member' ? this.#toMember : this.#toGateway;
    const place = at % Math.max(1, queue.length);
    const message = queue[place];
    if (message === undefined) return;
    if (type === 'deliver') {
      this.#take(to, place);
    } else if (type === 'drop') {
      queue.splice(place, 1);
    } else if (type === 'repeat') {
      if (message.kind === 'frame') message.isCopied = true;
      queue.push({ ...message });
    } else if (message.kind === 'frame' && !message.isCopied) {
      // The server knows that nobody was there for it.
      queue.splice(place, 1);
      this.#sendAgain(this.#gateway.undelivered(message.mark.n));
    }
  }

  #take(to: 'member' | 'gateway', at: number): void {
    if (to === 'member') this.#toTheMember(this.#toMember.splice(at, 1)[0] as ToMember);
    else this.#toTheGateway(this.#toGateway.splice(at, 1)[0] as ToGateway);
  }

  #toTheMember(message: ToMember): void {
    if (message.kind === 'sync') {
      const { request } = message;
      if (this.#member?.isForgottenBy(request)) {
        this.#member = undefined;
        this.#running = [];
      }
      this.#member ??= new MemberSession(++this.#sessions, request);
      const answer = this.#member.onSync(request);
      if (answer === undefined) return;
      this.#toGateway.push({ kind: 'synced', answer });
      const { session, got } = this.#member;
      let kept = this.#member.keptFrom(0);
      for (; kept !== undefined; kept = this.#member.keptFrom(kept.n + 1)) {
        const { n, tickets, payload } = kept;
        const replies = tickets.map((ticket) => ({ ticket, isLost: payload === lostBytes }));
        this.#toGateway.push({ kind: 'replies', session, n, got, replies });
      }
    } else if (message.kind === 'ack') {
      if (this.#member?.onAck(message.ack) !== true) this.#toGateway.push({ kind: 'gap' });
    } else {
      const { mark, tickets } = message;
      const status = this.#member?.onFrame(mark) ?? 'gap';
      if (status === 'gap') this.#toGateway.push({ kind: 'gap' });
      if (status !== 'taken') return;
      for (const ticket of tickets) {
        (this.calls[this.#callOf.get(ticket) as number] as Call).runs++;
        this.#running.push(ticket);
      }
    }
  }

  #toTheGateway(message: ToGateway): void {
    if (message.kind === 'gap') {
      this.#gateway.interrupt();
    } else if (message.kind === 'got') {
      this.#gateway.onGot(message.session, message.got);
    } else if (message.kind === 'synced') {
      const synced = this.#gateway.onSynced(message.answer);
      if (synced === undefined) return;
      this.#sendAgain(synced.undelivered);
      for (const [ticket, { n }] of this.#inFlight) {
        if (n < synced.forgottenBefore) this.#answer(ticket, 'lost');
      }
    } else if (this.#gateway.onReplies(message.session, message.n, message.got)) {
      for (const { ticket, isLost } of message.replies) {
        this.#answer(ticket, isLost ? 'lost' : 'result');
      }
    }
  }

  #sendAgain(tickets: readonly number[]): void {
    for (const ticket of tickets) {
      const { call } = this.#inFlight.get(ticket) as { call: number };
      this.#inFlight.delete(ticket);
      this.#waiting.push(call);
    }
  }

  #answer(ticket: number, answer: 'result' | 'lost'): void {
    const sent = this.#inFlight.get(ticket);
    if (sent === undefined) return;
    this.#inFlight.delete(ticket);
    (this.calls[sent.call] as Call).answers.push(answer);
  }
}
