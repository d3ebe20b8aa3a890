import { FormatRegistry } from '@sinclair/typebox';
import { didYouMean, suggest } from '../base/suggest.ts';
import { knownFormats } from './formats.ts';
import {
  forEachPart,
  type ObjectNode,
  type SchemaNode,
  type StringNode,
  someWithin,
} from './model.ts';
import { limitByPatterns } from './pattern-limits.ts';
import { unicodeFault } from './pattern-syntax.ts';
import { patternFault } from './patterns.ts';
import { refuseAt } from './reading.ts';

/**
 * Names that `{}` inherits: a schema that requires `toString` would accept `{}`, and a schema in which `constructor` is
 * optional would refuse it.
 */
const inheritedNames = new Set(Object.getOwnPropertyNames(Object.prototype));

/** The key pattern that Type.Record makes itself for numbers, and the one that matches nothing. */
const plainKeyPatterns = new Set(['^(0|[1-9][0-9]*)$', '^(?!.*)$']);

/**
 * Refuses at registration a schema that would fail at a call, and gives strings the lengths that their patterns need.
 *
 * @throws RegistrationError
 */
export function assertCheckable(root: SchemaNode, where: string): void {
  limitByPatterns(root);
  const seen = new Set<SchemaNode>();
  const visit = (node: SchemaNode, path: string): void => {
    if (seen.has(node)) return;
    seen.add(node);
    const fault = faultOf(node);
    if (fault !== undefined) refuseAt(where, path, fault);
    if (node.kind === 'ref') visit(node.target, path);
    else forEachPart(node, (part, step = '') => visit(part, path + step));
  };
  visit(root, '');
}

function faultOf(node: SchemaNode): string | undefined {
  if (node.kind === 'object') return memberFault(node);
  if (node.kind === 'not') return limitFault(node.node);
  if (node.kind === 'array' && node.contains !== undefined && node.maxContains !== undefined)
    return limitFault(node.contains);
  if (node.kind !== 'string') return undefined;
  const fault = formatFault(node);
  if (fault !== undefined || node.pattern === undefined) return fault;
  return faultOfPattern(node.pattern, node.maxLength);
}

/** A limit within what values must not match would let longer strings pass: its author has to decide. */
function limitFault(root: SchemaNode): string | undefined {
  let fault: string | undefined;
  someWithin(root, (node) => {
    if (node.kind === 'string' && node.isLimitedByPattern === true)
      fault = faultOfPattern(node.pattern ?? '');
    return fault !== undefined;
  });
  return fault;
}

function memberFault({ members, patterns }: ObjectNode): string | undefined {
  const inherited = members.find(({ name }) => inheritedNames.has(name));
  if (inherited !== undefined)
    return `the member name ${JSON.stringify(inherited.name)} is one every object inherits, so that its presence can't be checked; rename it`;
  for (const { pattern } of patterns) {
    // A name has no longest length.
    const fault = plainKeyPatterns.has(pattern) ? undefined : faultOfPattern(pattern, 'unlimited');
    if (fault !== undefined) return `patternProperties: ${fault}`;
  }
  return undefined;
}

function formatFault({ format }: StringNode): string | undefined {
  if (format === undefined || FormatRegistry.Has(format)) return undefined;
  const known = knownFormats();
  const hint = didYouMean(suggest(format, known)) || '.';
  return `unknown format ${JSON.stringify(format)}${hint} Known: ${known.join(', ')}`;
}

function faultOfPattern(pattern: string, maxLength?: number | 'unlimited'): string | undefined {
  const invalid = unicodeFault(pattern);
  if (invalid !== undefined) return invalid;
  const fault = patternFault(pattern, maxLength);
  return fault === undefined ? undefined : `the pattern ${JSON.stringify(pattern)} ${fault}`;
}
