/** One source of values for all who subscribe, through a topic. `publish` gives the next value. */
import { Router, RpcApp, Topic, Type } from '../../../src/index.ts';
import { expose } from '../../process/expose.ts';

const topic = new Topic<number>();
const router = new Router();
router.rpc({ name: 'ticker', yields: Type.Number() }, async function* (_params, { signal }) {
  yield* topic.subscribe(signal);
});

const app = new RpcApp({ router, logLevel: 'error' });
const { port } = await app.listen({ port: 0 });
if (app.transport !== 'uws') throw new Error('uWebSockets.js did not load: nothing to compare');

let value = 0;
expose(port, { publish: () => topic.publish(value++) });
