import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { clockMs } from '../../../core/base/clock.ts';
import type { Authenticator } from '../../../core/dispatch/authenticate.ts';
import { Sweep } from '../../../core/dispatch/deadline.ts';
import { describeProcedure } from '../../../core/procedures/document/introspect.ts';
import { tableOf, versionOf } from '../../../core/procedures/router.ts';
import type { RemoteServices } from '../../../core/service/cluster.ts';
import type { Dispatcher } from '../../../core/service/dispatcher.ts';
import type {
  NatsConnection,
  NatsFacts,
  NatsMessage,
  NatsSubscription,
} from '../connection/connection.ts';
import {
  Candidates,
  type Heartbeat,
  heartbeatMs,
  type MemberState,
  memberLimits,
  silenceCheck,
} from '../liveness.ts';
import { Endpoints } from '../micro/endpoints.ts';
import { AnswerLimit, Paced, sizesFor } from '../pace.ts';
import { contractOf, isNuid, mayAnswer, Subjects } from '../subjects.ts';
import { gapText, jsonOf, numberOf, readToMember, type ToMember } from '../wire.ts';
import {
  defaultRetention,
  type MemberOptions,
  type MemberParts,
  RemoteGateway,
  type ServedContract,
} from './remote-gateway.ts';

/** How often gateways with calls here are looked at, milliseconds. */
const lookMs = 50;

/** Heartbeats are sent so often at most when they are asked for, milliseconds. */
const minBeatMs = 50;

/** Gateways at once: what is done for each of them, again and again, must not hold up the calls. */
const maxGateways = 1000;

/** Bytes of documents in 50 ms: those of many gateways that start at once. */
const maxDocumentBytes = 2 * 1024 ** 2;

/** Bytes of the longest request for a part of a document. */
const maxDocumentRequestLength = 256;

/** The number of a session is above the last one by so much at most. */
const maxStepLength = 2 ** 20;

/** A drain lasts so long at least: gateways hear of it, and what they have sent comes. */
const minDrainMs = 500;

/** The member's side: a transport that takes calls from gateways over NATS, and gives them to the service. */
export class Member {
  readonly options: MemberOptions;
  readonly #parts: MemberParts;
  /** Those that have read an answer of this member. */
  readonly #gateways = new Map<string, RemoteGateway>();
  readonly #candidates = new Candidates<RemoteGateway>();
  readonly #subscriptions: NatsSubscription[] = [];
  readonly #sweep = new Sweep(lookMs, (now) => this.#look(now));
  readonly #stopListening: () => void;
  #documents: readonly NatsSubscription[] = [];
  readonly #documentParts = new AnswerLimit(maxDocumentBytes);
  #served: ServedContract;
  #state: MemberState = 'ready';
  #sessions = 0;
  readonly #beating: NodeJS.Timeout;
  #beatAt = clockMs();
  readonly #beats = new Paced(minBeatMs, () => this.#beat());
  #isStale = false;
  /** Silence counts from here at the earliest: before, it was this side that did not listen. */
  #listensSince = clockMs();
  readonly #askIfSilent: () => void;

  constructor(options: MemberOptions) {
    this.options = options;
    const subjects = new Subjects(options.name);
    this.#parts = { options, subjects, inFlight: 0, calls: 0 };
    this.#served = options.contract();
    const { connection, id } = options;
    this.#askIfSilent = silenceCheck(connection, () => this.#judgeSilent());
    this.#subscriptions.push(
      connection.subscribe(subjects.toMember(id), (message) => this.#onMessage(message)),
      connection.subscribe(subjects.hello, () => this.#beats.ask()),
    );
    this.#serveDocument();
    this.#stopListening = connection.onState((state) => {
      if (state !== 'reconnected') return;
      this.#listensSince = clockMs();
      this.#beats.actNow();
    });
    this.#beating = setInterval(() => this.#beats.actNow(), options.heartbeatMs);
    this.#beats.actNow();
  }

  /** Calls of all gateways that have no answer yet. */
  get inFlight(): number {
    return this.#parts.inFlight;
  }

  /**
   * Tells the gateways to send no more, finishes what is here, and listens no longer. Resolves when every gateway has its
   * replies, or after `graceMs`.
   */
  async drain(graceMs: number): Promise<void> {
    const began = clockMs();
    const { goneMs } = this.options.retention;
    this.#state = 'draining';
    this.#beats.actNow();
    for (let passedMs = 0; passedMs < graceMs; passedMs = clockMs() - began) {
      const isDone = [...this.#gateways.values()].every(
        (remote) => remote.isDone || this.#silenceOf(remote, clockMs()) > goneMs,
      );
      if (isDone && passedMs >= minDrainMs) break;
      await pause(10);
    }
    this.close();
    await this.options.connection.flush().catch(() => {
      // The connection is lost: nobody can be told.
    });
  }

  /** Listens no longer. What has not begun here is given back, what runs is aborted. */
  close(): void {
    clearInterval(this.#beating);
    this.#beats.stop();
    this.#sweep.stop();
    this.#stopListening();
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
    for (const subscription of this.#documents) subscription.unsubscribe();
    for (const remote of this.#gateways.values()) remote.leave();
    this.#gateways.clear();
  }

  #onMessage({ data }: NatsMessage): void {
    const message = readToMember(data);
    const { gateway } = message;
    if (!isNuid(gateway)) return;
    const now = clockMs();
    const remote = this.#remoteFor(message, now);
    if (remote === undefined) return;
    remote.onHeard(now);
    if (message.kind === 'sync') remote.onSync(message.request);
    else if (message.kind === 'acknowledgement') remote.onAcknowledgement(message);
    else if (message.kind === 'part') {
      remote.onPart(message.mark, message.ticket, message.total, message.bytes);
    } else {
      this.#noteLateness();
      remote.onFrame(message.mark, message.calls, this.#isStale);
    }
    this.#sweep.wake();
  }

  /**
   * The gateway that a message is from; undefined: the message is dropped. Anybody can send syncs: who sends one is a gateway when it
   * has read the answer.
   */
  #remoteFor(message: ToMember, now: number): RemoteGateway | undefined {
    const { gateway } = message;
    const known = this.#gateways.get(gateway);
    const remote = known ?? this.#candidates.get(gateway);
    if (message.kind === 'sync') {
      if (remote?.session.isForgottenBy(message.request) === false) return remote;
      remote?.cancelAll();
      if (known === undefined) {
        const hasRoom = this.#gateways.size < maxGateways && this.#candidates.makeRoom(now);
        if (!hasRoom) return undefined;
      }
      this.#sessions += randomInt(1, maxStepLength);
      const made = new RemoteGateway(gateway, message.request, this.#sessions, this.#parts);
      if (known === undefined) this.#candidates.add(gateway, made, now);
      else this.#gateways.set(gateway, made);
      return made;
    }
    if (known !== undefined) return known;
    const ack = message.kind === 'acknowledgement' ? message.ack : message.mark;
    // Who names the session has read the answer to its sync.
    if (remote?.session.session !== ack.session) {
      this.options.connection.publish(
        this.#parts.subjects.toGateway(gateway, this.options.id),
        gapText,
      );
      return undefined;
    }
    this.#candidates.delete(gateway);
    this.#gateways.set(gateway, remote);
    return remote;
  }

  #beat(): void {
    this.#noteLateness();
    this.#beatAt = clockMs();
    const { connection, id, version, started } = this.options;
    const served = this.options.contract();
    if (served.id !== this.#served.id) {
      this.#served = served;
      this.#serveDocument();
    }
    const heartbeat: Heartbeat = {
      id,
      state: this.#state,
      contract: served.id,
      version,
      started,
      load: this.#parts.inFlight,
      gateways: this.#gateways.size,
      calls: this.#parts.calls,
      returns: connection.reconnects,
    };
    connection.publish(this.#parts.subjects.heartbeat, JSON.stringify(heartbeat));
    this.#lookForSilence(clockMs());
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

  #look(now: number): boolean {
    let isBusy = false;
    for (const remote of this.#gateways.values()) if (remote.look(now)) isBusy = true;
    return isBusy;
  }

  #lookForSilence(now: number): void {
    this.#candidates.expire(now);
    const { goneMs, forgottenMs } = this.options.retention;
    for (const remote of this.#gateways.values()) {
      const limitMs = remote.isDone ? forgottenMs : goneMs;
      if (this.#silenceOf(remote, now) <= limitMs) continue;
      if (this.options.connection.connected) this.#askIfSilent();
      else remote.onOutOfReach();
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
      if (silentMs > goneMs) {
        remote.cancelAll();
        remote.onOutOfReach();
      }
      if (silentMs > forgottenMs) this.#gateways.delete(gateway);
    }
  }

  #serveDocument(): void {
    const { id: contract, document } = this.#served;
    const { connection, id } = this.options;
    const { subjects } = this.#parts;
    const headers = [
      ['Tandem-Total', String(document.byteLength)],
      ['Tandem-Member', id],
    ] as const;
    const answer = ({ reply = '', data }: NatsMessage): void => {
      if (!mayAnswer(reply) || this.#documentParts.isReached) return;
      const request = jsonOf(data, maxDocumentRequestLength) as { readonly from?: unknown } | null;
      const from = numberOf(request?.from);
      const part = document.subarray(from, from + sizesFor(connection.maxPayload).documentBytes);
      this.#documentParts.note(part.byteLength);
      connection.publish(reply, part, { headers });
    };
    for (const subscription of this.#documents) subscription.unsubscribe();
    this.#documents = [
      connection.subscribe(subjects.document(contract), answer, { queue: 'q' }),
      connection.subscribe(subjects.document(contract, id), answer),
    ];
  }
}

/** What a process serves to others over NATS: to gateways, and to other clients of NATS. */
export class Membership {
  readonly #dispatcher: Dispatcher;
  readonly #members: Member[];
  readonly #endpoints: Endpoints[];
  #contract: (ServedContract & { readonly version: number }) | undefined;

  private constructor(
    dispatcher: Dispatcher,
    connection: NatsConnection,
    authenticate: Authenticator<NatsFacts> | undefined,
  ) {
    this.#dispatcher = dispatcher;
    const { config } = dispatcher;
    const started = Date.now();
    const common = {
      connection,
      service: dispatcher,
      id: connection.nuid(),
      version: config.serviceVersion,
      authenticate,
    };
    const services = config.natsEndpoints ? config.service : [];
    this.#endpoints = services.map(
      (name) =>
        new Endpoints({
          ...config,
          ...common,
          name,
          started: new Date(started).toISOString(),
          served: () => {
            const { id: contract } = this.#served();
            return { names: dispatcher.router.list(), contract };
          },
        }),
    );
    this.#members = config.service.map(
      (name) =>
        new Member({
          ...config,
          ...common,
          name,
          started,
          heartbeatMs,
          silentMs: memberLimits.silentMs,
          retention: defaultRetention,
          contract: () => this.#served(),
        }),
    );
  }

  /**
   * Listens for calls. The dispatcher is ready.
   *
   * @param opened the connection of the cluster, which transport.ts has made
   * @throws StartupError if the permissions of the NATS server do not allow it; nothing listens then
   */
  static async join(
    dispatcher: Dispatcher,
    opened: RemoteServices['connection'],
    authenticate: Authenticator<NatsFacts> | undefined,
  ): Promise<Membership> {
    // That transport makes no others.
    const connection = opened as NatsConnection;
    const membership = new Membership(dispatcher, connection, authenticate);
    try {
      await connection.confirm();
    } catch (error) {
      for (const member of membership.#members) member.close();
      await Promise.all(membership.#endpoints.map((one) => one.drain()));
      throw error;
    }
    return membership;
  }

  /** Sends gateways elsewhere and finishes what is here, for `graceMs` at most. */
  async drain(graceMs: number): Promise<void> {
    const endpoints = this.#endpoints.map((one) => one.drain());
    const members = this.#members.map((member) => member.drain(graceMs));
    await Promise.all([...endpoints, ...members]);
  }

  /** What this process serves itself: made anew when its procedures have changed. */
  #served(): ServedContract {
    const { router } = this.#dispatcher;
    const version = versionOf(router);
    if (this.#contract?.version !== version) {
      const isFirst = this.#contract === undefined;
      const document = Buffer.from(
        JSON.stringify([...tableOf(router).values()].map(describeProcedure)),
      );
      this.#contract = { version, id: contractOf(document), document };
      if (!isFirst) for (const endpoints of this.#endpoints) endpoints.renew();
    }
    return this.#contract;
  }
}
