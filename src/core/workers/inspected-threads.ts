import type { InspectorNotification, NodeWorker, Session } from 'node:inspector';
import { createRequire } from 'node:module';
import { messageOf } from '../base/message-of.ts';

/** A thread of this process that answers the inspector's protocol. No port is opened, and a worker answers while it computes. */
export interface InspectedThread {
  /** 0: the main thread. */
  readonly threadId: number;
  /**
   * @returns the result as JSON text
   * @throws Error (rejects) with one line: the thread has ended, or refuses
   */
  ask(method: string, params?: object): Promise<string>;
}

const ended = 'it has ended meanwhile';

// A Node without the inspector runs services, too.
const load = createRequire(import.meta.url);

type Attached = InspectorNotification<NodeWorker.AttachedToWorkerEventDataType>;
type Received = InspectorNotification<NodeWorker.ReceivedMessageFromWorkerEventDataType>;
type Detached = InspectorNotification<NodeWorker.DetachedFromWorkerEventDataType>;

/** The inspector's sessions of all threads that the main thread has started. */
class WorkerSessions {
  readonly #byId = new Map<string, WorkerSession>();

  /** @throws Error if this process may not use the inspector: by Node's permission model, for example */
  constructor() {
    const session = newSession();
    // Node calls these at any moment, also while code of ours runs: they only write down what they are told.
    session.on('NodeWorker.attachedToWorker', ({ params }: Attached) => {
      const { sessionId, workerInfo } = params;
      // The title begins with the number of the thread. A name may follow.
      const threadId = Number(/^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]);
      this.#byId.set(sessionId, new WorkerSession(session, sessionId, threadId));
    });
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }: Received) =>
      this.#byId.get(params.sessionId)?.take(params.message),
    );
    session.on('NodeWorker.detachedFromWorker', ({ params }: Detached) => {
      this.#byId.get(params.sessionId)?.end();
      this.#byId.delete(params.sessionId);
    });
    post(session, 'NodeWorker.enable', { waitForDebuggerOnStart: false });
  }

  of(threadIds: readonly number[]): WorkerSession[] {
    return [...this.#byId.values()].filter(({ threadId }) => threadIds.includes(threadId));
  }
}

let workerSessions: WorkerSessions | undefined;

/**
 * From now on each thread has a session of the inspector from its start to its end, which costs nothing before it is asked. To be
 * called before threads start: when sessions begin, Node goes through the list of all threads, and ends the process (SIGSEGV, all
 * versions up to 26) if one that ends by itself leaves the list meanwhile. Idempotent.
 */
export function inspectNewThreads(): void {
  try {
    workerSessions ??= new WorkerSessions();
  } catch {
    // `inspectedWorkers` throws it to its callers.
  }
}

/**
 * @returns those of the threads that have begun and have not ended
 * @throws Error if this process may not use the inspector
 */
export function inspectedWorkers(threadIds: readonly number[]): InspectedThread[] {
  workerSessions ??= new WorkerSessions();
  return workerSessions.of(threadIds);
}

/** The main thread, seen from itself. */
export class InspectedMain implements InspectedThread {
  readonly threadId = 0;
  readonly #session: Session;

  /** @throws Error if this process may not use the inspector */
  constructor() {
    this.#session = newSession();
  }

  ask(method: string, params: object = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      this.#session.post(method, params, (error: Error | null, result?: object) => {
        if (error === null) resolve(JSON.stringify(result));
        else reject(new Error(messageOf(error)));
      });
    });
  }

  /** Ends what was begun. */
  disconnect(): void {
    this.#session.disconnect();
  }
}

class WorkerSession implements InspectedThread {
  readonly threadId: number;
  readonly #session: Session;
  readonly #sessionId: string;
  readonly #waiting: ((message: string | undefined) => void)[] = [];
  #asked = 0;
  #isEnded = false;

  constructor(session: Session, sessionId: string, threadId: number) {
    this.#session = session;
    this.#sessionId = sessionId;
    this.threadId = threadId;
  }

  async ask(method: string, params: object = {}): Promise<string> {
    if (this.#isEnded) throw new Error(ended);
    const answer = await new Promise<string | undefined>((resolve) => {
      // The thread answers in the order in which it was asked, and perhaps before `post` returns.
      this.#waiting.push(resolve);
      const message = JSON.stringify({ id: ++this.#asked, method, params });
      const sessionId = this.#sessionId;
      post(this.#session, 'NodeWorker.sendMessageToWorker', { sessionId, message });
    });
    if (answer === undefined) throw new Error(ended);
    // The answer may be long: it is not parsed.
    const head = /^\{"id":\d+,"result":/.exec(answer)?.[0];
    if (head !== undefined) return answer.slice(head.length, -1);
    const { error } = JSON.parse(answer) as { readonly error?: { readonly message?: string } };
    throw new Error(error?.message ?? 'it gave no answer that can be read');
  }

  take(message: string): void {
    const isEvent = message.startsWith('{"method":');
    if (!isEvent) this.#waiting.shift()?.(message);
  }

  end(): void {
    this.#isEnded = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}

/** The callback takes the error of a thread that has ended meanwhile. */
function post(session: Session, method: string, params: object): void {
  session.post(method, params, () => {});
}

function newSession(): Session {
  const { Session: NodeSession } = load('node:inspector') as typeof import('node:inspector');
  const session = new NodeSession();
  session.connect();
  return session;
}
