/** The thread of {@link CountedConnections}. It loads nothing but Node. */
import { readFileSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';

/** How many open connections to a port each address has; undefined: the system does not tell. */
export type ConnectionCounts = ReadonlyMap<string, number> | undefined;

const established = '01';
/** The inode of a connection that waits to be accepted: it is counted when a server takes it. */
const notAccepted = '0';

function countConnections(port: number): ConnectionCounts {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const counts = new Map<string, number>();
  let isKnown = false;
  for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    let text: string;
    try {
      text = readFileSync(file, 'latin1');
    } catch {
      continue;
    }
    isKnown = true;
    for (const line of text.split('\n')) {
      const [, at = '', peer = '', state, , , , , , inode] = line.trim().split(/\s+/, 10);
      if (state !== established || !at.endsWith(local) || inode === notAccepted) continue;
      const address = addressOf(peer.slice(0, peer.indexOf(':')));
      counts.set(address, (counts.get(address) ?? 0) + 1);
    }
  }
  return isKnown ? counts : undefined;
}

/** The text of an address that Linux gives as words of 32 bits, each with its lowest byte first. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex');
  if (process.arch !== 's390x') bytes.swap32();
  if (bytes.length === 4) return bytes.join('.');
  const mapped = bytes.subarray(0, 12).equals(Buffer.from('00000000000000000000ffff', 'hex'));
  if (mapped) return bytes.subarray(12).join('.');
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}

parentPort?.on('message', (port: number) => parentPort?.postMessage(countConnections(port)));
