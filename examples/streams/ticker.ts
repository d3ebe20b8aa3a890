/** `ticker.subscribe`: one source of prices for all who subscribe. It runs while somebody does. */
import { Router, Topic, Type } from 'tandem-rpc';

const router = new Router();
export default router;

const Price = Type.Object({ symbol: Type.String(), price: Type.Number() });
const everyMs = 100;

const prices = new Topic<{ symbol: string; price: number }>({ buffer: 16 });
let readers = 0;
let timer: NodeJS.Timeout | undefined;
let price = 100;

function enter(): void {
  if (readers++ > 0) return;
  timer = setInterval(() => {
    price = Math.round((price + Math.sin(Date.now() / 1000)) * 100) / 100;
    prices.publish({ symbol: 'TNDM', price });
  }, everyMs);
}

function leave(): void {
  if (--readers === 0) clearInterval(timer);
}

router.rpc(
  {
    name: 'ticker.subscribe',
    doc: 'A price ten times a second. A reader that falls 16 behind misses the oldest.',
    yields: Price,
  },
  // An `async` generator runs on the main thread, where the topic lives.
  async function* (_, { signal }) {
    enter();
    try {
      yield* prices.subscribe(signal);
    } finally {
      leave();
    }
  },
);
