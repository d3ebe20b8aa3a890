import { serviceName } from '../../core/base/package-files.ts';
import { StartupError } from '../../core/base/startup-error.ts';
import { type FlagValues, optionsFromFlags, resolveConfig } from '../../core/config/config.ts';
import { openApiOf } from '../../extras/openapi/document.ts';
import { Operations } from '../../extras/openapi/operation.ts';
import { describeModule } from './module-source.ts';

/** The OpenAPI document that a service of a module would have. @param flags of the options that the document shows */
export async function openApiOfModule(path: string, flags: FlagValues): Promise<unknown> {
  const facts = factsOf(flags);
  const { document } = await describeModule(path, (procedures) =>
    openApiOf(new Operations(procedures, facts.httpProcedures, facts.hasAuth), facts),
  );
  return document;
}

/** As `tandem serve` has them with the same flags and variables, except that there is a path unless they say none. */
function factsOf(flags: FlagValues) {
  const { env } = process;
  const isGiven = (variable: string): boolean => (env[variable] ?? '').trim() !== '';
  const usual = isGiven('TANDEM_HTTP_PATH') ? undefined : '/api';
  const config = resolveConfig({ httpPath: usual, ...optionsFromFlags(flags) }, env);
  if (config.httpPath === '') {
    throw new StartupError('option httpPath is none: without it there is no OpenAPI document');
  }
  // Who gives it has an authenticate: a service without one has no use for the option.
  const hasAuth = flags.httpAuth !== undefined || isGiven('TANDEM_HTTP_AUTH');
  return { ...config, title: serviceName(), hasAuth };
}
