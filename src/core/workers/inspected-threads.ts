import type { InspectorNotification, NodeWorker, Session } from 'node:inspector';
import { messageOf } from '../base/message-of.ts';
import { Vacancy } from '../base/timer.ts';

/** A thread of this process that answers the inspector's protocol. */
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

/** Threads that are being terminated and have not gone. */
const ending = new Set<object>();
const noneEnding = new Vacancy();

/** A terminated thread that has not gone after so long computes in native code: its inspector is not taken down yet, milliseconds. */
const takeDownMs = 100;

/**
 * Notes that a thread is about to be terminated. Node attaches a session to every thread of the process, and ends the process
 * (SIGSEGV or SIGABRT, Node 20) if one of them takes its inspector down at that moment. So a session waits until they have gone.
 */
export function noteEnding(thread: {
  /** -1: it has gone. */
  readonly threadId: number;
  once(event: 'exit', listener: () => void): unknown;
}): void {
  // No event would tell of it.
  if (thread.threadId === -1) return;
  ending.add(thread);
  thread.once('exit', () => {
    if (ending.delete(thread) && ending.size === 0) noneEnding.tell();
  });
}

type Attached = InspectorNotification<NodeWorker.AttachedToWorkerEventDataType>;
type Received = InspectorNotification<NodeWorker.ReceivedMessageFromWorkerEventDataType>;
type Detached = InspectorNotification<NodeWorker.DetachedFromWorkerEventDataType>;

/**
 * The main thread and chosen workers, by the inspector's protocol. No port is opened, and a worker answers while it computes. Other
 * threads, and those that start later, are left alone.
 */
export class InspectedThreads {
  readonly main: InspectedThread;
  readonly #session: Session;
  readonly #sessions = new Map<string, WorkerSession>();
  /** A session that is not connected throws, and Node tells of threads at any moment, also while code of ours runs. */
  #isConnected = true;

  private constructor(session: Session, threadIds: readonly number[]) {
    this.#session = session;
    this.main = { threadId: 0, ask: (method, params) => askMain(session, method, params) };
    // Later: Node tells of all threads in one loop, and ends the process if a thread ends by itself while code of ours runs there.
    session.on('NodeWorker.attachedToWorker', ({ params }: Attached) =>
      queueMicrotask(() => this.#attach(params, threadIds)),
    );
    session.on('NodeWorker.receivedMessageFromWorker', ({ params }: Received) =>
      this.#sessions.get(params.sessionId)?.take(params.message),
    );
    session.on('NodeWorker.detachedFromWorker', ({ params }: Detached) =>
      this.#sessions.get(params.sessionId)?.end(),
    );
  }

  /** @throws Error (rejects) if this process may not use the inspector: by Node's permission model, for example */
  static async connect(threadIds: readonly number[]): Promise<InspectedThreads> {
    // Few services ever need it.
    const { Session } = await import('node:inspector');
    if (ending.size > 0) await noneEnding.within(takeDownMs);
    const session = new Session();
    session.connect();
    const threads = new InspectedThreads(session, threadIds);
    // Its answer comes after all threads were attached to.
    await new Promise<void>((resolve) => {
      session.post('NodeWorker.enable', { waitForDebuggerOnStart: false }, () => resolve());
    });
    return threads;
  }

  /** Those of the chosen threads that there are. */
  get workers(): readonly InspectedThread[] {
    return [...this.#sessions.values()];
  }

  /** Ends what was begun in the threads. Idempotent. */
  disconnect(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    for (const [sessionId, thread] of this.#sessions) {
      thread.end();
      post(this.#session, 'NodeWorker.detach', { sessionId });
    }
    this.#session.disconnect();
  }

  #attach({ sessionId, workerInfo }: Attached['params'], threadIds: readonly number[]): void {
    if (!this.#isConnected) return;
    // The title begins with the number of the thread. A name may follow.
    const threadId = Number(/^\[worker (\d+)\]/.exec(workerInfo.title)?.[1]);
    if (threadIds.includes(threadId))
      this.#sessions.set(sessionId, new WorkerSession(this.#session, sessionId, threadId));
    else post(this.#session, 'NodeWorker.detach', { sessionId });
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
    // What is no answer is an event.
    if (message.startsWith('{"id":')) this.#waiting.shift()?.(message);
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

function askMain(session: Session, method: string, params: object = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    session.post(method, params, (error: Error | null, result?: object) => {
      if (error === null) resolve(JSON.stringify(result));
      else reject(new Error(messageOf(error)));
    });
  });
}
