/** Calls a running service, typed by api.ts: `node --import tsx examples/media/client.ts http://127.0.0.1:8000/rpc` */
import { createClient, hasCode, settle } from 'tandem-rpc/client';
import { type Contract, hints } from './api.ts';
import { grainyPhoto } from './photo.ts';

const url = process.argv[2] ?? 'http://127.0.0.1:8000/rpc';
const account = { name: 'ada', password: 'correct horse' };

const anybody = createClient<Contract>({ url, hints });
const signedUp = await settle(anybody.users.signUp(account));
if (!signedUp.ok && !hasCode(signedUp.error, 409)) throw signedUp.error;
const { token } = await anybody.users.signIn(account);
const api = createClient<Contract>({ url, hints, headers: { authorization: `Bearer ${token}` } });

const data = await grainyPhoto(2500);
const began = performance.now();
const small = await api.images.thumb({ data });
const ms = Math.round(performance.now() - began);
console.log(`${data.length} bytes in, ${small.length} bytes out, ${ms} ms`);
console.log(await api.images.digest({ data: small }));

const csv = 'title,place,year\nPier,Brighton,1843\n"The ""Rocket""",Rainhill,1829\n';
console.log(await api.photos.load({ csv }));
console.log(await api.photos.search({ text: 'rain' }));

const wrong = await settle(api.photos.load({ csv: 'title,place,year\nPier,Brighton,soon\n' }));
if (!wrong.ok && hasCode(wrong.error, 422)) console.log(wrong.error.message, wrong.error.data);
