/**
 * What `npm start` serves. Procedures are grouped into small routers, each merged under a prefix. The
 * synchronous ones run in worker threads, the asynchronous ones (they wait, they don't compute) inline.
 */
import { Router } from 'tandem-rpc';
import { auth } from './procedures/auth.ts';
import { math } from './procedures/math.ts';
import { shop } from './procedures/shop.ts';
import { text } from './procedures/text.ts';
import { time } from './procedures/time.ts';

const router = new Router();
router.merge(math, 'math.');
router.merge(text, 'text.');
router.merge(auth, 'auth.');
router.merge(shop, 'shop.');
router.merge(time, 'time.');

export default router;
