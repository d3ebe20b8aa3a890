/**
 * `npm run api`: writes the API reports, api/*.api.md: every public type as the declarations of both packages have it.
 * With --check it writes nothing, and exits with 1 where a report is out of date: a public type has changed.
 *
 * API Extractor reads the declarations with a TypeScript of its own, since TypeScript 7 has no API for that.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { buildClient, writeTypes } from './bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const client = join(root, 'packages/client');
const reports = join(root, 'api');

/** By the name of the report: the package, and the declarations of the entry. */
const entries = {
  'tandem-rpc': [root, 'dist/src/index.d.ts'],
  'tandem-rpc-jwt': [root, 'dist/src/extras/jwt/jwt.d.ts'],
  'tandem-rpc-client': [client, 'dist/index.d.ts'],
  'tandem-rpc-client-sse': [client, 'dist/sse.d.ts'],
  'tandem-rpc-client-socket': [client, 'dist/socket.d.ts'],
  'tandem-rpc-client-tanstack': [client, 'dist/tanstack.d.ts'],
} as const;

/** Writes the report of one entry into `folder`. */
function report(name: keyof typeof entries, folder: string): void {
  const [projectFolder, entry] = entries[name];
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder,
      mainEntryPointFilePath: join(projectFolder, entry),
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2022',
            module: 'nodenext',
            moduleResolution: 'nodenext',
            types: ['node'],
            skipLibCheck: true,
            strict: true,
          },
          files: [join(projectFolder, entry)],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: folder,
        reportTempFolder: folder,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        // The house writes its comments without TSDoc's tags, and some public types lean on types without a name outside.
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(projectFolder, 'package.json'),
  });
  const { succeeded } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      message.handled = message.logLevel !== ExtractorLogLevel.Error;
    },
  });
  if (!succeeded) throw new Error(`API Extractor can't read ${entry}`);
}

const folder = mkdtempSync(join(tmpdir(), 'tandem-api-'));
try {
  writeTypes(root, join(root, 'dist'));
  await buildClient(root, client);
  mkdirSync(reports, { recursive: true });
  for (const name of Object.keys(entries) as (keyof typeof entries)[]) {
    report(name, folder);
    const file = `${name}.api.md`;
    const text = readFileSync(join(folder, file), 'utf8');
    const known = join(reports, file);
    if (existsSync(known) && readFileSync(known, 'utf8') === text) {
      console.log(`api/${file} is current`);
    } else if (process.argv.includes('--check')) {
      console.error(
        `api/${file}: a public type has changed; where that is meant, run npm run api, and tell of it in CHANGELOG.md`,
      );
      process.exitCode = 1;
    } else {
      cpSync(join(folder, file), known);
      console.log(`api/${file} was written`);
    }
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
