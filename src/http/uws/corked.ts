import { type Answer, serviceFailed } from '../edge/answer.ts';
import type { BodyAnswer } from '../edge/body-handler.ts';
import type { UwsResponse } from './response.ts';

/** Sends a reply when its socket is corked. */
interface CorkedSender {
  sendCorked(reply: BodyAnswer): void;
}

/** What `sendCorked` sends. One function for all replies: a cork takes one without arguments, and calls it at once. */
const corked: { sender: CorkedSender | undefined; reply: BodyAnswer } = {
  sender: undefined,
  reply: undefined,
};

function sendCorked(): void {
  const { sender, reply } = corked;
  corked.sender = undefined;
  corked.reply = undefined;
  sender?.sendCorked(reply);
}

/** Has `sender` send the reply in a cork. */
export function sendInCork(response: UwsResponse, sender: CorkedSender, reply: BodyAnswer): void {
  corked.sender = sender;
  corked.reply = reply;
  response.cork(sendCorked);
}

/**
 * Gives `write` an answer: now, or in a cork when it is made.
 *
 * @param warn told of an answer that fails. `write` is then given one that says so
 */
export function whenMade<A extends Answer | undefined>(
  response: UwsResponse,
  answer: A | Promise<A>,
  warn: (message: string) => void,
  write: (made: A | Answer) => void,
): void {
  if (!(answer instanceof Promise)) {
    write(answer);
    return;
  }
  answer.then(
    (made) => response.cork(() => write(made)),
    (error: unknown) => {
      warn(`service failed under a request: ${String(error)}`);
      response.cork(() => write(serviceFailed));
    },
  );
}

/** Settles after the parser's turn, and after everything that is read in this turn of the event loop. */
export async function afterTurn(reply: BodyAnswer | Promise<BodyAnswer>): Promise<BodyAnswer> {
  const settled = await reply;
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
