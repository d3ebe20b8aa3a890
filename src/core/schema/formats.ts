import { isIPv4, isIPv6 } from 'node:net';
import { FormatRegistry } from '@sinclair/typebox';
import { isBase64 } from './bytes.ts';
import { expressionOf } from './pattern-syntax.ts';

/** In no expression do two repeats without a limit stand beside each other, so every check takes linear time. */
const expressions = {
  date: /^(\d{4})-(\d{2})-(\d{2})$/,
  time: /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:z|([+-])(\d{2}):(\d{2}))$/i,
  // Years and days have months between them, hours and seconds minutes.
  duration:
    /^P(?!$)(?:\d+W|(?:\d+Y(?!\d+D))?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H(?!\d+S))?(?:\d+M)?(?:\d+S)?)?)$/,
  atom: /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$/i,
  quotedLocalPart: /^"(?:[ !#-[\]-~]|\\[ -~])*"$/,
  label: /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  scheme: /^[a-z][a-z0-9+.-]*$/i,
  notUri: /[^a-z0-9\-._~!$&'()*+,;=:@/?%]|%(?![0-9a-f]{2})/i,
  notHost: /[^a-z0-9\-._~!$&'()*+,;=%]|%(?![0-9a-f]{2})/i,
  notTemplate: /[^a-z0-9\-._~!$&'()*+,;=:@/?#[\]%]|%(?![0-9a-f]{2})/i,
  notVariable: /[^a-z0-9_.%]|%(?![0-9a-f]{2})|^\.|\.(?:\.|$)/i,
  port: /^\d*$/,
};

const formats: Readonly<Record<string, (value: string) => boolean>> = {
  date: isDate,
  time: isTime,
  'date-time': isDateTime,
  // RFC 3339, appendix A.
  duration: (value) => expressions.duration.test(value),
  email: isEmail,
  hostname: isHostname,
  ipv4: (value) => isIPv4(value),
  ipv6: isPlainIpv6,
  uri: isUri,
  'uri-reference': isUriReference,
  iri: (value) => isUri(asUri(value)),
  'iri-reference': (value) => isUriReference(asUri(value)),
  'uri-template': isUriTemplate,
  url: (value) => /^(?:https?|ftp):\/\/[^/?#]/i.test(value) && isUriReference(value),
  uuid: (value) => expressions.uuid.test(value),
  byte: isBase64,
  base64: isBase64,
  base64url: (value) => !/[^A-Za-z0-9_-]/.test(value) && value.length % 4 !== 1,
  'json-pointer': isJsonPointer,
  'relative-json-pointer': isRelativeJsonPointer,
  regex: isRegex,
};

/** Registers the formats with TypeBox. Idempotent. A format that the program has set before is kept. */
export function registerFormats(): void {
  for (const [name, check] of Object.entries(formats)) {
    if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, check);
  }
}

export function knownFormats(): string[] {
  return [...FormatRegistry.Entries().keys()].sort();
}

/** RFC 3339 full-date, and a day that exists. */
function isDate(value: string): boolean {
  const parts = expressions.date.exec(value);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const longest = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= longest;
}

/** RFC 3339 full-time, which includes an offset. Second 60 is valid only where UTC can have a leap second. */
function isTime(value: string): boolean {
  const parts = expressions.time.exec(value);
  if (parts === null) return false;
  const [hour, minute, second] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const [offsetHour, offsetMinute] = [Number(parts[5] ?? 0), Number(parts[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (offsetHour * 60 + offsetMinute) * (parts[4] === '-' ? -1 : 1);
  const day = 24 * 60;
  return (hour * 60 + minute - offset + 2 * day) % day === day - 1;
}

function isDateTime(value: string): boolean {
  const separator = value.charAt(10);
  if (separator !== 'T' && separator !== 't') return false;
  return isDate(value.slice(0, 10)) && isTime(value.slice(11));
}

/** The Mailbox of RFC 5321, section 4.1.2. */
function isEmail(value: string): boolean {
  if (value.length > 254) return false;
  const at = value.lastIndexOf('@');
  if (at < 1 || at > 64) return false;
  const [local, domain] = [value.slice(0, at), value.slice(at + 1)];
  const isLocalPart =
    expressions.quotedLocalPart.test(local) ||
    local.split('.').every((atom) => expressions.atom.test(atom));
  return isLocalPart && (isHostname(domain) || isAddressLiteral(domain));
}

/** Of the tags that an address literal may begin with, IPv6 is the only registered one. */
function isAddressLiteral(domain: string): boolean {
  if (!domain.startsWith('[') || !domain.endsWith(']')) return false;
  const address = domain.slice(1, -1);
  return /^ipv6:/i.test(address) ? isPlainIpv6(address.slice(5)) : isIPv4(address);
}

/** RFC 1123. */
function isHostname(value: string): boolean {
  if (value.length === 0 || value.length > 253) return false;
  return value.split('.').every((label) => expressions.label.test(label));
}

const maxRegexLength = 4096;

/**
 * Whether the text is a regular expression with the flag u. V8 builds a list of characters for each class that it
 * reads, 170 us for `\p{L}`, so it is given `\d` instead, which may stand wherever such a class may.
 */
function isRegex(value: string): boolean {
  if (value.length > maxRegexLength) return false;
  const cheap = value.replace(
    /\\(?:([dDsSwW])|[pP]\{([^{}]*)\}|.)/gs,
    (text, letter?: string, property?: string) => {
      const isClass = letter !== undefined || (property !== undefined && isProperty(property));
      return isClass ? '\\d' : text;
    },
  );
  return expressionOf(cheap) !== undefined;
}

/** Those that Unicode has: a few thousand names, so that this can't grow without end. */
const properties = new Set<string>();

function isProperty(name: string): boolean {
  if (properties.has(name)) return true;
  const isOne = expressionOf(`\\p{${name}}`) !== undefined;
  if (isOne) properties.add(name);
  return isOne;
}

/** The components of RFC 3986, appendix B, the path and the query as one. */
const components = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^#]*)(?:#(.*))?$/s;

function isUri(value: string): boolean {
  return isUriReference(value) && /^[^:/?#]+:/.test(value);
}

function isUriReference(value: string): boolean {
  const [, scheme, authority, path = '', fragment = ''] = components.exec(value) ?? [];
  if (scheme !== undefined && !expressions.scheme.test(scheme)) return false;
  if (authority !== undefined && !isAuthority(authority)) return false;
  // A first segment with a colon would read as a scheme.
  const isRelative = scheme === undefined && authority === undefined;
  if (isRelative && /^[^/?]*:/.test(path)) return false;
  return !expressions.notUri.test(path) && !expressions.notUri.test(fragment);
}

function isAuthority(authority: string): boolean {
  const at = authority.indexOf('@');
  const userinfo = at === -1 ? '' : authority.slice(0, at);
  if (expressions.notHost.test(userinfo.replaceAll(':', ''))) return false;
  const place = authority.slice(at + 1);
  const literal = place.startsWith('[') ? place.indexOf(']') : -1;
  if (literal !== -1) {
    const port = place.slice(literal + 1);
    return isIpLiteral(place.slice(1, literal)) && (port === '' || /^:\d*$/.test(port));
  }
  const colon = place.indexOf(':');
  const host = colon === -1 ? place : place.slice(0, colon);
  return (
    !expressions.notHost.test(host) &&
    (colon === -1 || expressions.port.test(place.slice(colon + 1)))
  );
}

function isIpLiteral(text: string): boolean {
  if (/^v[0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+$/i.test(text)) return true;
  return isPlainIpv6(text);
}

/** A zone (fe80::1%eth0) is refused: it has a meaning on one machine only, and RFC 4291 has none. */
function isPlainIpv6(text: string): boolean {
  return text.length <= 45 && !text.includes('%') && isIPv6(text);
}

// RFC 3987. The marks of direction are not among the characters, as its section 4.1 demands.
const iriCharacters =
  /(?!\p{Noncharacter_Code_Point})[\u00a0-\u200d\u2010-\u2029\u202f-\ud7ff\uf900-\uffef\u{10000}-\u{dffff}\u{e1000}-\u{effff}]/gu;
const iriPrivate = /(?!\p{Noncharacter_Code_Point})[\ue000-\uf8ff\u{f0000}-\u{10ffff}]/gu;

/** An IRI with its characters beyond ASCII percent-encoded is a URI. Those for private use are valid in the query only. */
function asUri(iri: string): string {
  return iri
    .replace(/^([^?#]*)(\?[^#]*)/, (_, path: string, query: string) => path + encoded(query))
    .replace(iriCharacters, '%20');
}

function encoded(text: string): string {
  return text.replace(iriCharacters, '%20').replace(iriPrivate, '%20');
}

/** RFC 6570. A quote (') stands for itself, as erratum 6937 says. */
function isUriTemplate(value: string): boolean {
  // A wrong expression stays, with its brace. A slash keeps what stands around a right one apart.
  const literals = value.replace(/\{([^{}]*)\}/g, (text, expression: string) =>
    isTemplateExpression(expression) ? '/' : text,
  );
  return !expressions.notTemplate.test(encoded(literals));
}

function isTemplateExpression(expression: string): boolean {
  const variables = expression.replace(/^[+#./;?&=,!@|]/, '').split(',');
  return variables.every((variable) => {
    const name = variable.replace(/(?::[1-9]\d{0,3}|\*)$/, '');
    return name !== '' && !expressions.notVariable.test(name);
  });
}

function isJsonPointer(value: string): boolean {
  return value === '' || (value.startsWith('/') && !/~(?![01])/.test(value));
}

/** Levels up, a step among items, then `#` or a JSON Pointer (draft-bhutton-relative-json-pointer-00). */
function isRelativeJsonPointer(value: string): boolean {
  const start = /^(?:0|[1-9]\d*)(?:[+-][1-9]\d*)?/.exec(value);
  if (start === null) return false;
  const rest = value.slice(start[0].length);
  return rest === '#' || isJsonPointer(rest);
}
