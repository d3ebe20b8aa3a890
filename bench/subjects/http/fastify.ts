import { expose } from '../../process/expose.ts';
import { add, addParams, burn, burnParams } from '../work.ts';
import { addMethod, createFastify, listenFastify } from './fastify-app.ts';

const app = await createFastify();
addMethod(app, 'add', addParams, add);
addMethod(app, 'burn', burnParams, burn);

expose(await listenFastify(app));
