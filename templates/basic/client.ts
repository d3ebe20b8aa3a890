import { createClient } from 'tandem-rpc/client';
import type { Contract } from './api.ts';

const url = process.env.RPC_URL ?? 'http://127.0.0.1:8000/rpc';
const client = createClient<Contract>({ url });

console.log(await client.greet({ name: 'Ada' }));
console.log(await client.numbers.stats({ values: [1, 2, 3] }));
