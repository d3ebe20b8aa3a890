import { clockMs } from '../../base/clock.ts';
import { Sweep } from '../../dispatch/queue/sweep.ts';
import type { NatsMessage, NatsSubscription } from '../connection/connection.ts';
import { SilenceCheck } from '../connection/silence-check.ts';
import { heartbeatText, type MemberState } from '../heartbeat.ts';
import { mayAnswer } from '../micro/names.ts';
import { sizesFor } from '../pace.ts';
import { isNuid, Subjects } from '../subjects.ts';
import { gapText } from '../wire/to-gateway.ts';
import { readToMember } from '../wire/to-member.ts';
import { documentPart } from './document-part.ts';
import type { MemberOptions, ServedContract } from './member-options.ts';
import { RemoteGateway, type RemoteGatewayOwner } from './remote-gateway.ts';

/** How often gateways that have something here are looked at. */
const lookMs = 50;

/** A drain lasts so long at least: gateways hear of it, and what they have sent comes. */
const shortestDrainMs = 500;

/** The member's side: a transport that takes calls from gateways over NATS, and gives them to the service. */
export class Member implements RemoteGatewayOwner {
  readonly options: MemberOptions;
  /** See {@link RemoteGatewayOwner}. */
  readonly subjects: Subjects;
  readonly #gateways = new Map<string, RemoteGateway>();
  readonly #subscriptions: NatsSubscription[] = [];
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));
  readonly #stopListening: () => void;
  #documents: NatsSubscription | undefined;
  #served: ServedContract;
  #state: MemberState = 'ready';
  #sessions = 0;
  #calls = 0;
  #beating: NodeJS.Timeout | undefined;
  #beatAt = clockMs();
  #isStale = false;
  /** Silence counts from here at the earliest: before, it was this side that did not listen. */
  #listensSince = clockMs();
  readonly #silence: SilenceCheck;
  #draining: Promise<void> | undefined;

  constructor(options: MemberOptions) {
    this.options = options;
    this.subjects = new Subjects(options.name);
    this.#served = options.contract();
    const { connection, id } = options;
    this.#silence = new SilenceCheck(connection, () => this.#judgeSilent());
    this.#subscriptions.push(
      connection.subscribe(this.subjects.toMember(id), (message) => this.#onMessage(message)),
      connection.subscribe(this.subjects.hello, () => this.#beat()),
    );
    this.#serveDocument();
    this.#stopListening = connection.onState((state) => {
      if (state === 'reconnected') this.#onReturn();
    });
    this.#beating = setInterval(() => this.#beat(), options.heartbeatMs);
    this.#beat();
  }

  /** Calls that are here. */
  get inFlight(): number {
    let sum = 0;
    for (const { inFlight } of this.#gateways.values()) sum += inFlight;
    return sum;
  }

  /** See {@link RemoteGatewayOwner}. */
  get isStale(): boolean {
    this.#noteLateness();
    return this.#isStale;
  }

  /** See {@link RemoteGatewayOwner}. */
  nextSession(): number {
    return ++this.#sessions;
  }

  /** See {@link RemoteGatewayOwner}. */
  onCalls(count: number): void {
    this.#calls += count;
    this.#sweep.wake();
  }

  /** See {@link RemoteGatewayOwner}. */
  wake(): void {
    this.#sweep.wake();
  }

  /**
   * Tells the gateways to send no more, finishes what is here, and listens no longer. Resolves when every gateway has its
   * replies, or after `graceMs`. Idempotent.
   */
  drain(graceMs: number): Promise<void> {
    this.#draining ??= this.#drain(graceMs);
    return this.#draining;
  }

  async #drain(graceMs: number): Promise<void> {
    const began = clockMs();
    const { goneMs } = this.options.retention;
    this.#state = 'draining';
    this.#beat();
    await new Promise<void>((resolve) => {
      const check = setInterval(() => {
        const passedMs = clockMs() - began;
        const isDone = [...this.#gateways.values()].every(
          (remote) => remote.isDone || this.#silenceOf(remote, clockMs()) > goneMs,
        );
        if (passedMs < graceMs && !(isDone && passedMs >= shortestDrainMs)) return;
        clearInterval(check);
        resolve();
      }, 10);
    });
    this.close();
    await this.options.connection.flush().catch(() => {});
  }

  /** Listens no longer. What has not begun here is given back, what runs is aborted. */
  close(): void {
    clearInterval(this.#beating);
    this.#sweep.stop();
    this.#stopListening();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    this.#documents?.unsubscribe();
    for (const remote of this.#gateways.values()) remote.leave();
    this.#gateways.clear();
  }

  #onMessage({ data }: NatsMessage): void {
    const message = readToMember(data);
    const { gateway } = message;
    if (!isNuid(gateway)) return;
    let remote = this.#gateways.get(gateway);
    if (remote !== undefined && message.kind === 'sync' && remote.isForgottenBy(message.request)) {
      remote.cancelAll();
      remote = undefined;
    }
    if (remote === undefined) {
      if (message.kind !== 'sync') {
        this.options.connection.publish(this.subjects.toGateway(gateway, this.options.id), gapText);
        return;
      }
      remote = new RemoteGateway(gateway, message.request, this);
      this.#gateways.set(gateway, remote);
    }
    remote.heardAt = clockMs();
    if (message.kind === 'sync') remote.onSync(message.request);
    else if (message.kind === 'acknowledgement') remote.onAcknowledgement(message.acknowledgement);
    else if (message.kind === 'part') {
      remote.onPart(message.mark, message.ticket, message.total, message.bytes);
    } else remote.onFrame(message.mark, message.calls);
    this.wake();
  }

  #beat(): void {
    this.#noteLateness();
    this.#noteContract();
    this.#beatAt = clockMs();
    const { connection, id, version, started } = this.options;
    const text = heartbeatText({
      id,
      state: this.#state,
      contract: this.#served.id,
      version,
      started,
      load: this.inFlight,
      gateways: this.#gateways.size,
      calls: this.#calls,
      returns: connection.reconnects,
    });
    connection.publish(this.subjects.heartbeat, text);
    this.#lookForSilence(clockMs());
  }

  /** Whether other modules serve now. */
  #noteContract(): void {
    const served = this.options.contract();
    if (served.id === this.#served.id) return;
    this.#served = served;
    this.#serveDocument();
  }

  /** After so long a pause gateways have given this member up. What had come meanwhile lies before the answer to a ping. */
  #noteLateness(): void {
    const { heartbeatMs, silentMs, connection } = this.options;
    if (this.#isStale || clockMs() - this.#beatAt < heartbeatMs + silentMs) return;
    this.#isStale = true;
    this.#listensSince = clockMs();
    const end = (): void => {
      this.#isStale = false;
      this.#beatAt = clockMs();
      this.#listensSince = clockMs();
    };
    connection.flush().then(end, end);
  }

  #onReturn(): void {
    this.#listensSince = clockMs();
    this.#beat();
  }

  #look(now: number): boolean {
    let isBusy = false;
    for (const remote of this.#gateways.values()) if (remote.look(now)) isBusy = true;
    return isBusy;
  }

  #lookForSilence(now: number): void {
    const { goneMs, forgottenMs } = this.options.retention;
    for (const remote of this.#gateways.values()) {
      const limitMs = remote.isDone ? forgottenMs : goneMs;
      if (this.#silenceOf(remote, now) > limitMs) this.#silence.ask();
    }
  }

  #silenceOf({ heardAt }: RemoteGateway, now: number): number {
    return now - Math.max(heardAt, this.#listensSince);
  }

  /** All that gateways had sent has come: the calls of those that are silent now are cancelled. */
  #judgeSilent(): void {
    const now = clockMs();
    const { goneMs, forgottenMs } = this.options.retention;
    for (const [gateway, remote] of this.#gateways) {
      const silentMs = this.#silenceOf(remote, now);
      if (silentMs > goneMs) remote.cancelAll();
      if (silentMs > forgottenMs) this.#gateways.delete(gateway);
    }
  }

  #serveDocument(): void {
    const { id, document } = this.#served;
    const { connection } = this.options;
    this.#documents?.unsubscribe();
    this.#documents = connection.subscribe(
      this.subjects.document(id),
      ({ reply, data }) => {
        if (!mayAnswer(reply)) return;
        const whole = document();
        const { documentBytes } = sizesFor(connection.maxPayload);
        const part = documentPart(whole, data, documentBytes);
        connection.publish(reply, part, { headers: [['Tandem-Total', String(whole.byteLength)]] });
      },
      { queue: 'q' },
    );
  }
}
