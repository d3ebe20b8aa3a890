import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestScope } from '../../src/core/dispatch/scope.ts';
import type { Reply } from '../../src/core/protocol/reply.ts';
import type { SentFacts } from './subject.ts';
import { LoopbackRequest, LoopbackServer, loopbackSubject } from './subjects/loopback.ts';
import { casesFor, runCase } from './suite.ts';

/** Transports that break the contract in one place, and the case of the suite that sees it. */

class AnswersTwice extends LoopbackRequest {
  protected override answer(reply: Reply): void {
    super.answer(reply);
    super.answer(reply);
  }
}

class AnswersNotifications extends LoopbackRequest {
  protected override answer(reply: Reply): void {
    super.answer(reply ?? '{"jsonrpc":"2.0","id":null,"result":null}');
  }
}

/** One buffer for the bodies of all requests, handed over a turn later than it was filled. */
const shared = Buffer.alloc(300_000);

class KeepsALentBody extends LoopbackRequest {
  protected override handle(bytes: Uint8Array): void {
    shared.set(bytes);
    setImmediate(() => super.handle(shared.subarray(0, bytes.length)));
  }
}

class NeverCancels extends LoopbackRequest {
  protected override cancel(): void {}
}

let last: SentFacts = {};

/** One object of facts for all requests. */
class MixesCallers extends LoopbackRequest {
  protected override scopeOf(facts: SentFacts): RequestScope {
    last = facts;
    const scope = super.scopeOf(facts);
    Object.defineProperty(scope, 'headers', { get: () => ({ 'x-tenant': last.tenant }) });
    return scope;
  }
}

class ForgetsTheTime extends LoopbackRequest {
  protected override scopeOf({ timeoutMs: _, ...facts }: SentFacts): RequestScope {
    return super.scopeOf(facts);
  }
}

class KeepsItsMemory extends LoopbackRequest {
  protected override release(): void {}
}

class TakesAnyLength extends LoopbackRequest {
  protected override get limit(): number {
    return Number.POSITIVE_INFINITY;
  }
}

class AsksNobody extends LoopbackRequest {
  protected override handle(bytes: Uint8Array): void {
    this.scope.verdict = undefined;
    super.handle(bytes);
  }
}

class LeavesAtOnce extends LoopbackServer {
  override async close(): Promise<void> {
    void super.close();
  }
}

const crossing = 'nothing crosses between callers that call at the same time (generated)';
const specification = 'the examples of the specification have their answers';

const broken: readonly (readonly [
  name: string,
  Request: typeof LoopbackRequest,
  seenBy: string,
  Server?: typeof LoopbackServer,
])[] = [
  ['answers twice', AnswersTwice, specification],
  ['answers notifications', AnswersNotifications, specification],
  ['keeps a body that it was lent', KeepsALentBody, crossing],
  ['never cancels', NeverCancels, 'calls stop when their caller leaves, and those of others go on'],
  ["mixes two callers' facts", MixesCallers, crossing],
  [
    'forgets the time of its caller',
    ForgetsTheTime,
    "a request is answered with -32001 when its caller's time is over",
  ],
  [
    'does not give memory back',
    KeepsItsMemory,
    'memory for bodies is given back when they are answered, and not before',
  ],
  [
    'takes messages of any length',
    TakesAnyLength,
    'a message over the limit is refused with -32004, and others are served on',
  ],
  [
    'does not ask who calls',
    AsksNobody,
    'who calls is asked once for each request and is its auth, or refuses it: at once',
  ],
  [
    'ends while calls run',
    LoopbackRequest,
    'close() answers what was accepted, takes nobody new, and ends after that',
    LeavesAtOnce,
  ],
];

/** A case that waits for what never comes has failed too. A sound transport is not asked here, so this is no verdict. */
const patienceMs = 500;

for (const [name, Request, seenBy, Server = LoopbackServer] of broken) {
  test(`a transport that ${name} does not pass: ${seenBy}`, async () => {
    class Broken extends Server {
      override begin(...args: Parameters<LoopbackServer['begin']>): LoopbackRequest {
        return new Request(this, ...args);
      }
    }
    const subject = loopbackSubject(name, (service, options) => new Broken(service, options));
    const one = casesFor(subject).find((each) => each.name === seenBy);
    assert.ok(one !== undefined, seenBy);
    const never = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error('never ended')), patienceMs);
    });
    await assert.rejects(runCase(subject, one, never));
  });
}
