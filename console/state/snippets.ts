import { callsUrl } from '../facts.ts';
import { itemsOf, membersOf } from '../json/raw.ts';
import { requestHeaders } from './headers.ts';

/** A text as one word of a POSIX shell's command line. */
function quote(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * A command line that sends the same. Values of headers are left out: they are mostly secrets.
 *
 * @param body JSON text; undefined: it is a GET
 */
export function curlText(url: string, body: string | undefined, isStream: boolean): string {
  const words = [
    `curl${url.includes('[') ? ' -g' : ''}${isStream ? ' -N' : ''} ${quote(url)}`,
    ...(body === undefined ? [] : [`-H 'content-type: application/json'`]),
    ...(isStream ? [`-H 'accept: text/event-stream'`] : []),
    ...Object.keys(requestHeaders()).map((name) => `-H ${quote(`${name}: ...`)}`),
    ...(body === undefined ? [] : [`-d ${quote(body)}`]),
  ];
  return words.join(' \\\n  ');
}

/** Typed code that does the same. */
export function codeText(method: string, params: string, isStream: boolean): string {
  const isPath = /^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/.test(method);
  const args = params === '' ? '' : literal(params);
  const call = isPath
    ? `client.${method}(${args})`
    : `client.call(${JSON.stringify(method)}${args === '' ? '' : `, ${args}`})`;
  const named = Object.keys(requestHeaders()).map((name) => `${JSON.stringify(name)}: '...'`);
  const more = [
    ...(isStream ? ['streams: sse()'] : []),
    ...(named.length === 0 ? [] : [`headers: { ${named.join(', ')} }`]),
  ];
  const options = [`url: ${JSON.stringify(callsUrl)}`, ...more].join(', ');
  return [
    `import { createClient } from 'tandem-rpc/client';`,
    ...(isStream ? [`import { sse } from 'tandem-rpc/client/sse';`] : []),
    `import type { Contract } from './api.ts'; // tandem codegen ${callsUrl} --out api.ts`,
    '',
    `const client = createClient<Contract>({ ${options} });`,
    isStream
      ? `for await (const value of ${call}) console.log(value);`
      : `const result = await ${call};`,
  ].join('\n');
}

/** JSON as it is written in code: names without quotes where they need none. Numbers stay as they are. */
function literal(text: string): string {
  const items = itemsOf(text);
  if (items !== undefined) return `[${items.map(literal).join(', ')}]`;
  const given = membersOf(text);
  if (given === undefined) return text;
  const members = Array.from(
    given,
    ([name, one]) =>
      `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)}: ${literal(one)}`,
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}
