import { isMainThread, MessagePort } from 'node:worker_threads';

/** Types of the messages with which Node's threads tell the main thread of threads that they start (lib/internal/worker/messaging.js). */
const [begins, ends] = ['registerMainThreadPort', 'unregisterMainThreadPort'];

interface Told {
  readonly type?: unknown;
  readonly threadId?: unknown;
}
type PostMessage = (this: MessagePort, message: Told | null, ...rest: unknown[]) => void;

/**
 * Starts Node's thread for the hooks of modules, without an entry in the main thread's list of threads. Each worker thread has such a
 * thread of its own where Node has no `registerHooks`. Node takes the entry off when that thread ends before its parent does. Where the
 * parent is ended, the list keeps the entry, a port and its listeners, until the process ends: 3 KB for each lost worker.
 * The list is for `postMessageToThread`, and nobody sends messages to this thread.
 *
 *     worker thread     new Worker(hooks)      begins, its thread and a port          main thread: list
 *                       that thread ends       ends, its thread (unknown: throws)
 *
 * Both messages are held back. All others pass, those of a Node with other names too.
 *
 * @param register calls `module.register`, which starts the thread
 */
export function startHooksThread<R>(register: () => R): R {
  if (isMainThread) return register();
  const prototype = MessagePort.prototype as { postMessage?: PostMessage };
  const own = Object.getOwnPropertyDescriptor(prototype, 'postMessage');
  const { postMessage } = prototype as { postMessage: PostMessage };
  prototype.postMessage = function (message, ...rest) {
    if (message?.type === begins) holdBackEnd(this, postMessage, message.threadId);
    else postMessage.call(this, message, ...rest);
  };
  try {
    return register();
  } finally {
    if (own === undefined) delete prototype.postMessage;
    else Object.defineProperty(prototype, 'postMessage', own);
  }
}

function holdBackEnd(port: MessagePort, postMessage: PostMessage, threadId: unknown): void {
  const passOn: PostMessage = (message, ...rest) => {
    if (message?.type === ends && message.threadId === threadId) return;
    postMessage.call(port, message, ...rest);
  };
  Object.defineProperty(port, 'postMessage', { value: passOn, configurable: true, writable: true });
}
