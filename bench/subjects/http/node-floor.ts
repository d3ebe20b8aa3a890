/** The floor on node:http: it reads a body and writes a fixed reply, with the one header that a JSON reply needs. */
import { createServer } from 'node:http';
import { expose } from '../../process/expose.ts';
import { firstReply } from '../fixed.ts';
import { portOf } from './arguments.ts';

const server = createServer((req, res) => {
  req.on('data', () => {});
  req.on('end', () => {
    res.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(firstReply),
    });
    res.end(firstReply);
  });
});

expose(await portOf(server));
