#!/usr/bin/env node
// `npm create tandem-rpc my-service` is `tandem init my-service`, by the version of tandem-rpc that this package names.
import { readFile } from 'node:fs/promises';

const manifest = new URL(import.meta.resolve('tandem-rpc/package.json'));
const { bin } = JSON.parse(await readFile(manifest, 'utf8'));
process.argv.splice(2, 0, 'init');
await import(new URL(bin.tandem, manifest).href);
