import { isObject } from '../base/value-kinds.ts';
import { codePointsIn } from './keywords.ts';
import {
  forEachPart,
  isScalar,
  resolved,
  type SchemaNode,
  type StringNode,
  someWithin,
} from './model.ts';
import { lengthNeededBy, patternFault } from './patterns.ts';
import { escapePointer } from './pointer.ts';
import { refuseAt } from './reading.ts';

/** Gives each string without `maxLength` the one that its pattern needs. */
export function limitByPatterns(root: SchemaNode): void {
  someWithin(root, (node) => {
    const isOpen = node.kind === 'string' && node.maxLength === undefined;
    const maxLength =
      isOpen && node.pattern !== undefined ? lengthNeededBy(node.pattern) : undefined;
    if (isOpen && maxLength !== undefined) {
      node.maxLength = maxLength;
      node.isLimitedByPattern = true;
    }
    return false;
  });
}

/** The strings that `limitByPatterns` has limited, each with its place. */
export function limitedStrings(root: SchemaNode | undefined, place: string): string[] {
  const found: string[] = [];
  const visit = (node: SchemaNode, path: string): void => {
    if (node.kind === 'string' && node.isLimitedByPattern === true)
      found.push(`${path} (${node.maxLength})`);
    forEachPart(node, (part, step = '') => visit(part, path + step));
  };
  if (root !== undefined) visit(root, place);
  return found;
}

type Guard = (value: unknown) => boolean;

type MeasuredString = StringNode & { readonly pattern: string; readonly maxLength: number };

/** A string whose pattern takes more than linear time. It has a `maxLength`: registration has seen to that. */
function isMeasured(node: SchemaNode): node is MeasuredString {
  return (
    node.kind === 'string' && node.pattern !== undefined && patternFault(node.pattern) !== undefined
  );
}

/**
 * Measures strings before a library matches their patterns: libraries match a string although they find it too long.
 *
 * @returns undefined if there is nothing to measure
 * @throws RegistrationError if another part of the schema takes longer strings at the same place
 */
export function lengthGuard(root: SchemaNode, where: string): Guard | undefined {
  return new LengthGuard(where).of(root, '');
}

class LengthGuard {
  readonly #where: string;
  readonly #targets = new Map<SchemaNode, Guard | undefined>();

  constructor(where: string) {
    this.#where = where;
  }

  of(node: SchemaNode, path: string): Guard | undefined {
    if (isMeasured(node)) return (value) => typeof value !== 'string' || isAtMost(value, node);
    if (node.kind === 'ref') return this.#ofTarget(resolved(node), path);
    const inPlace: Guard[] = [];
    const labelled = new Map<string, Guard | undefined>();
    let others: Guard | undefined;
    let names: Guard | undefined;
    forEachPart(node, (part, step) => {
      const place = path + (step ?? '');
      if (mayBeLonger(node, part)) this.#assertNoneIn(part, place);
      const guard = this.of(part, place);
      if (step === undefined) names = guard;
      else if (step === '/*') others ??= guard;
      else if (step !== '') labelled.set(step, guard);
      else if (guard !== undefined) inPlace.push(guard);
    });
    if (inPlace.length > 0) {
      // The literals of a union may be longer.
      const literals = node.kind === 'union' ? node.variants.map(literalOf) : [];
      return (value) => inPlace.every((guard) => guard(value)) || literals.includes(value);
    }
    if ([names, others, ...labelled.values()].every((guard) => guard === undefined))
      return undefined;
    return (value) => {
      if (node.kind === 'array' ? !Array.isArray(value) : !isObject(value)) return true;
      return Object.entries(value as object).every(([name, part]) => {
        const step = `/${escapePointer(name)}`;
        const guard = labelled.has(step) ? labelled.get(step) : others;
        return names?.(name) !== false && guard?.(part) !== false;
      });
    };
  }

  #ofTarget(target: SchemaNode, path: string): Guard | undefined {
    if (!this.#targets.has(target)) {
      let guard: Guard | undefined;
      const holds = someWithin(target, isMeasured);
      // A type that holds itself comes here again before its guard is made.
      this.#targets.set(target, holds ? (value) => guard?.(value) !== false : undefined);
      guard = this.of(target, path);
    }
    return this.#targets.get(target);
  }

  #assertNoneIn(root: SchemaNode, path: string): void {
    someWithin(root, (node) => {
      if (!isMeasured(node)) return false;
      const fault = `the pattern ${JSON.stringify(node.pattern)} ${patternFault(node.pattern, 'unlimited')}`;
      refuseAt(
        this.#where,
        path,
        `longer strings pass here by another part of the schema, and ${fault}`,
      );
    });
  }
}

/** Whether a value may pass though a string in it is too long for a part of its schema. */
function mayBeLonger(node: SchemaNode, part: SchemaNode): boolean {
  switch (node.kind) {
    case 'object':
      // Which names a pattern leaves to the others is not looked at.
      return node.patterns.length > 0 && !node.members.some((member) => member.node === part);
    case 'array':
      return part === node.contains;
    case 'union':
      return node.variants.some((other) => other !== part && mayHoldText(resolved(other)));
    case 'intersection':
      return part === node.unevaluated;
    default:
      return true;
  }
}

const textless = new Set<SchemaNode['kind']>(['null', 'boolean', 'number', 'integer', 'never']);

function mayHoldText(node: SchemaNode): boolean {
  return node.kind === 'literal' ? !isScalar(node.value) : !textless.has(node.kind);
}

function literalOf(node: SchemaNode): unknown {
  return node.kind === 'literal' ? node.value : undefined;
}

function isAtMost(text: string, { maxLength }: MeasuredString): boolean {
  return (
    text.length <= maxLength || (text.length <= 2 * maxLength && codePointsIn(text) <= maxLength)
  );
}
