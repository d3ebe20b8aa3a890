/** The version of the protocol whose requests tell all about themselves: nothing is kept between two of them. */
export const modernVersion = '2026-07-28';

/** Versions that begin with a handshake, the newest first. It is answered, and nothing is kept of it. */
const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** The one version that has batches. A client that names no version is taken for one of it. */
export const batchVersion = '2025-03-26';

/** The members of `_meta` that are read. */
export const metaNames = {
  version: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  progress: 'progressToken',
} as const;

export const serverInfoName = 'io.modelcontextprotocol/serverInfo';

export function isLegacy(version: string): boolean {
  return legacyVersions.includes(version);
}

/** The version that a handshake agrees on: that of the client, or the newest one. */
export function agreedVersion(asked: string): string {
  return isLegacy(asked) ? asked : (legacyVersions[0] ?? asked);
}
