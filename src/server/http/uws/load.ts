import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { nearestManifest } from '../../../core/base/package-files.ts';

export type Uws = typeof import('uWebSockets.js');

/** Why the native module is not available here, and what makes it available, as parts of one line. */
export interface UwsMissing {
  readonly uws?: undefined;
  readonly fault?: undefined;
  readonly reason: string;
  readonly advice?: string;
}

export interface UwsLoaded {
  readonly uws: Uws;
  readonly reason?: undefined;
  /** Why the binary must not be used beyond this machine; undefined: it is known to be right. */
  readonly fault?: string | undefined;
}

export type UwsLoad = UwsLoaded | UwsMissing;

/** Bytes of an incomplete head that the parser keeps: 16 KiB of headers and the request line. */
const maxHeadLength = 24 * 1024;

/** Loads uWebSockets.js at the first call. Importing this file loads no native binary. */
export async function loadUws(): Promise<UwsLoad> {
  if (!isMainThread) {
    // Ending a worker thread that hosts uWebSockets.js aborts the whole process.
    return { reason: 'it runs on the main thread only' };
  }
  // The binary reads this variable when it loads. Its default of 4 KiB would refuse longer headers that come in
  // several packets.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(maxHeadLength);
  try {
    const module = await import('uWebSockets.js');
    return { uws: module.default, fault: faultOf(loadedBinary(), process.versions.modules) };
  } catch (error) {
    return explain(error);
  }
}

interface Binary {
  readonly name?: unknown;
  readonly version?: unknown;
}

function loadedBinary(): Binary {
  const { cache } = createRequire(import.meta.url);
  const file = Object.keys(cache).find((path) => /[\\/]uws_\w+\.node$/.test(path));
  return file === undefined ? {} : nearestManifest(dirname(file));
}

/**
 * The binaries that are known to take a request in any pieces: of which package, from which version on, for which ABIs of Node.
 * Older ones answer 505 if the first line of a request arrives in two pieces (issue 1776 of uWebSockets, mended in October 2024).
 */
const rightBinaries: readonly { name: RegExp; version: string; abi: number }[] = [
  // The binaries for Node 20 and 21 in this package are of 2023.
  { name: /^(?:uwebsockets|tandem-rpc-uws-[\w-]+)$/, version: '3.0.6', abi: 127 },
  { name: /^(?:uWebSockets\.js|@btc-vision\/uwebsockets\.js)$/, version: '20.57.0', abi: 0 },
];

/** @param modules `process.versions.modules`, by which a binary is chosen */
export function faultOf({ name, version }: Binary, modules: string): string | undefined {
  const given = String(version);
  const isRight = rightBinaries.some(
    (right) =>
      right.name.test(String(name)) &&
      right.version.localeCompare(given, 'en', { numeric: true }) <= 0 &&
      Number(modules) >= right.abi,
  );
  if (isRight) return undefined;
  const [major] = process.versions.node.split('.');
  return `its binary for Node ${major} (${String(name)} ${given}) answers 505 if the first line of a request arrives in pieces`;
}

/** What an operator can do about a binary with a fault. */
export const otherBinary =
  'run Node 22 or 24 with glibc 2.38 or newer, such as the image node:24-trixie-slim';

const otherBuild =
  'run Node 24, or take a build of its authors by "overrides" in package.json (SECURITY.md, Native code)';
const otherSystem =
  'run on a system with glibc 2.38 or newer, such as the image node:24-trixie-slim';
/** npm chooses the package by the system on which it runs, and there is none for musl. */
const installed =
  'install on the system that serves, with glibc (not Alpine) and without --omit=optional';

/** What the errors of a load say, and what they mean to an operator. */
export function explain(error: unknown): UwsMissing {
  const text = String(error instanceof Error ? error.message : error);
  const [major] = process.versions.node.split('.');
  const [, platformPackage] = /Cannot find package '(tandem-rpc-uws-[\w-]+)'/.exec(text) ?? [];
  if (platformPackage !== undefined) {
    return { reason: `its package ${platformPackage} is not installed`, advice: installed };
  }
  if (/Cannot find package/.test(text)) {
    return { reason: 'it is not installed', advice: 'install without --omit=optional' };
  }
  if (/Cannot find module '(?:\.|tandem-rpc-uws-[\w-]+)\/uws_/.test(text)) {
    const reason = `it has no binary for Node ${major} on ${process.platform} ${process.arch}`;
    return { reason, advice: otherBuild };
  }
  const glibc = /GLIBC_[\d.]+/.exec(text)?.[0].replace('_', ' ').toLowerCase();
  if (glibc !== undefined) {
    const reason = `its binary for Node ${major} needs ${glibc} or newer, which this system does not have`;
    return { reason, advice: otherSystem };
  }
  // How the loader of musl (Alpine) begins.
  if (/Error (?:loading shared library|relocating)/.test(text)) {
    return {
      reason: 'its binaries need glibc, which this system does not have',
      advice: otherSystem,
    };
  }
  // The module's message lists the Node versions that it supports, and then says why this binary did not load.
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return { reason: (lines[1] ?? lines[0] ?? 'unknown').replace(/^Error: /, '') };
}

/** Text or bytes as the native code may be given them. */
export type NativeText = (data: string | Uint8Array) => string | Uint8Array;

/**
 * The binaries for Node 23 and later send a string that V8 holds in one byte for each character as Latin-1 (issue 1280
 * of uWebSockets.js). They read it by `String::ValueView`, which older versions of V8 do not have. Those for Node 22
 * and earlier send UTF-8. See docs/architecture.md, "Decisions".
 *
 * @param modules `process.versions.modules`, by which a binary is chosen
 */
export function createNativeText(modules: string): NativeText {
  return Number(modules) <= lastRight ? (data) => data : asciiOrBytes;
}

/** That of Node 22, whose V8 is the last one without `String::ValueView`. */
const lastRight = 127;

function asciiOrBytes(data: string | Uint8Array): string | Uint8Array {
  if (typeof data !== 'string' || Buffer.byteLength(data) === data.length) return data;
  return Buffer.from(data);
}

/**
 * Everything that is sent through a response or a WebSocket of uWebSockets.js, and is not a constant, passes through
 * here. Where the binary sends all strings right, this function does nothing.
 */
export const nativeText: NativeText = createNativeText(process.versions.modules);
