/** What https://github.com/piscinajs/fastify-piscina does: one pool, and one `run` for each call. */
import { expose } from '../../process/expose.ts';
import { createPool } from '../piscina.ts';
import { type Add, add, addParams, type Burn, burnParams } from '../work.ts';
import { threads } from './arguments.ts';
import { addMethod, createFastify, listenFastify } from './fastify-app.ts';

const pool = createPool(threads);
const app = await createFastify();
addMethod(app, 'add', addParams, add);
addMethod(app, 'pooledAdd', addParams, (params: Add) => pool.run(params));
addMethod(app, 'burn', burnParams, (params: Burn) => pool.run(params, { name: 'pooledBurn' }));

expose(await listenFastify(app));
