import { headed, type Input, refused } from './input.ts';

function type(cause: string, value: string | undefined): Input {
  return headed(cause, { 'content-type': value }, refused(415));
}

function encoding(cause: string, value: string): Input {
  return headed(`content-encoding ${cause}`, { 'content-encoding': value }, refused(415));
}

function timeout(cause: string, value: string): Input {
  return headed(`rpc-timeout-ms ${cause}`, { 'rpc-timeout-ms': value }, refused(400));
}

const filler = (count: number, value: string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, value]));

/** The table of docs/protocol.md, "POST /rpc"; the connection goes on behind all of them. */
export const headers: readonly Input[] = [
  type('no content-type', undefined),
  type('an empty content-type', ''),
  type('a type without a subtype', 'application'),
  type('JSON without its tree', 'json'),
  type('JSON as text', 'text/json'),
  type('a wildcard type', 'application/*'),
  type('the type of a form', 'application/x-www-form-urlencoded'),
  type('the type of a form in parts', 'multipart/form-data; boundary=x'),
  type('plain text, which a page may send', 'text/plain;charset=UTF-8'),
  type('another type that ends in json', 'application/vnd.api+json'),
  type('a type that begins like the right one', 'application/json5'),
  type('the right type in a parameter', 'text/plain; a=application/json'),
  type('the right type as a parameter', 'text/plain; application/json'),
  type('the right type behind another', 'text/plain, application/json'),
  type('the right type before another', 'application/json, text/plain'),
  type('two content-type headers', 'application/json\r\nContent-Type: application/json'),
  type('two content-type headers that differ', 'application/json\r\nContent-Type: text/plain'),
  type('a blank in the type', 'application/ json'),
  type('a no-break space behind the type', 'application/json\xa0; charset=utf-8'),
  type('the right type in quotes', '"application/json"'),
  type('charset latin1', 'application/json; charset=iso-8859-1'),
  type('charset utf-16', 'application/json; charset=utf-16'),
  type('charset utf8, without its dash', 'application/json; charset=utf8'),
  type('an empty charset', 'application/json; charset='),
  type('a charset twice, right and wrong', 'application/json; charset=utf-8; charset=utf-7'),
  type('a charset in single quotes', "application/json; charset='utf-8'"),

  encoding('gzip', 'gzip'),
  encoding('deflate', 'deflate'),
  encoding('br', 'br'),
  encoding('that nobody knows', 'tandem'),
  encoding('identity and gzip', 'identity, gzip'),
  encoding('identity twice', 'identity, identity'),
  encoding('sent twice', 'identity\r\nContent-Encoding: identity'),

  timeout('0', '0'),
  timeout('00', '00'),
  timeout('negative', '-1'),
  timeout('with a plus', '+1'),
  timeout('with a fraction', '1.0'),
  timeout('with an exponent', '1e3'),
  timeout('in hexadecimal', '0x64'),
  timeout('with its unit', '100ms'),
  timeout('with a separator', '1_000'),
  timeout('with a blank inside', '1 0'),
  timeout('empty', ''),
  timeout('a word', 'soon'),
  timeout('NaN', 'NaN'),
  timeout('infinite', 'Infinity'),
  timeout('in other digits', '１'),
  timeout('a list', '5, 5'),
  timeout('twice', '5\r\nRpc-Timeout-Ms: 5'),

  headed('many headers above 16 KiB together', filler(80, 'a'.repeat(220)), refused(431)),
  headed('a cookie above 16 KiB', { cookie: `a=${'b'.repeat(16 * 1024)}` }, refused(431)),
  headed('a header name above 16 KiB', { [`x${'-a'.repeat(8 * 1024)}`]: '1' }, refused(431)),
];
