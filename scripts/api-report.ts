/**
 * `npm run api`: writes the API reports, api/*.api.md: every public type as the declarations of both packages have it.
 * With --check it writes nothing, and exits with 1 if a report is out of date: a public type has changed.
 *
 * API Extractor reads the declarations with a TypeScript of its own, since TypeScript 7 has no API for that.
 */
import { join } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { buildClient, writeTypes } from './bundle.ts';
import { fail, main, root, temporaryFolder } from './script.ts';

const client = join(root, 'packages/client');
const reports = join(root, 'api');
const isCheck = process.argv.includes('--check');

/** By the name of the report: the package, and the declarations of the entry. */
const entries = {
  'tandem-rpc': [root, 'dist/src/index.d.ts'],
  'tandem-rpc-jwt': [root, 'dist/src/extras/jwt/jwt.d.ts'],
  'tandem-rpc-client': [client, 'dist/index.d.ts'],
  'tandem-rpc-client-sse': [client, 'dist/sse.d.ts'],
  'tandem-rpc-client-socket': [client, 'dist/socket.d.ts'],
  'tandem-rpc-client-tanstack': [client, 'dist/tanstack.d.ts'],
} as const;

/** Writes the report of one entry; with --check into `folder` alone. @returns whether it has changed */
function report(name: keyof typeof entries, folder: string): boolean {
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
        reportFolder: reports,
        reportTempFolder: folder,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        // Comments are written without TSDoc's tags, and some public types use types without a name outside.
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(projectFolder, 'package.json'),
  });
  const { errorCount, apiReportChanged } = Extractor.invoke(config, {
    localBuild: !isCheck,
    messageCallback: (message) => {
      message.handled = message.logLevel !== ExtractorLogLevel.Error;
    },
  });
  if (errorCount > 0) throw new Error(`API Extractor can't read ${entry}`);
  return apiReportChanged;
}

await main(async () => {
  const folder = temporaryFolder('tandem-api-');
  await writeTypes(root, join(root, 'dist'));
  await buildClient(root, client);
  const names = Object.keys(entries) as (keyof typeof entries)[];
  const changed = names.filter((name) => report(name, folder));
  for (const name of changed)
    console.log(`api/${name}.api.md ${isCheck ? 'differs' : 'was written'}`);
  if (isCheck && changed.length > 0) {
    fail(
      'a public type has changed; if that is meant, run npm run api, and tell of it in CHANGELOG.md',
    );
  }
});
