import { overWays } from '../http/event-stream/over-ways.ts';
import { ownServers } from '../http/event-stream/stage.ts';
import { atRandom, cuttings, cutWay } from './cut-proxy.ts';
import { httpSubject, mounts, servers } from './subjects/http.ts';
import { mountedSocket, socketSubject } from './subjects/sockets.ts';
import { conformance } from './suite.ts';

/** A network gives a stream in any pieces: what each suite says holds for all of them. */
for (const cutting of cuttings) {
  for (const server of servers) {
    conformance(httpSubject(cutWay(server, cutting)));
    conformance(socketSubject(cutWay(server, cutting)));
  }
  overWays(ownServers.map((way) => cutWay(way, cutting)));
}
for (const mount of mounts) conformance(httpSubject(cutWay(mount, atRandom)));
conformance(socketSubject(cutWay(mountedSocket, atRandom)));
