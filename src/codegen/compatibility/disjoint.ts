import { accepts } from './accepts.ts';
import { type ObjectShape, type Part, type ReadShapes, type Shape, sameType } from './shapes.ts';

/** Levels of members that are looked at: discriminants lie near to the top. */
const maxDepth = 3;

/** Whether it is certain that no value has both shapes. */
export function areDisjoint(a: Shape, b: Shape, read: ReadShapes, depth = 0): boolean {
  if (!sameType(a, b)) return true;
  if (a.type === 'constant') return accepts(b, a.value, read) === false;
  if (b.type === 'constant') return accepts(a, b.value, read) === false;
  if (a.type === 'number' && b.type === 'number') {
    return a.minimum > b.maximum || b.minimum > a.maximum;
  }
  return (
    a.type === 'object' && b.type === 'object' && depth < maxDepth && objects(a, b, read, depth)
  );
}

/** A member that one of them requires tells them apart, where it has no value that suits both. */
function objects(a: ObjectShape, b: ObjectShape, read: ReadShapes, depth: number): boolean {
  for (const name of new Set([...a.required, ...b.required])) {
    const [one, other] = [a.members.get(name), b.members.get(name)];
    if (one !== undefined && other !== undefined && parts(one, other, read, depth + 1)) return true;
  }
  return false;
}

function parts(a: Part, b: Part, read: ReadShapes, depth: number): boolean {
  const others = read(b);
  return read(a).every((one) => others.every((other) => areDisjoint(one, other, read, depth)));
}

/** A member that tells the variants of a union apart: both require it, each with certain values. */
export function haveOtherDiscriminants(a: Shape, b: Shape, read: ReadShapes): boolean {
  if (a.type !== 'object' || b.type !== 'object') return !sameType(a, b);
  return [...a.required].some((name) => {
    const [one, other] = [a.members.get(name), b.members.get(name)];
    if (one === undefined || other === undefined) return false;
    const isConstant = ({ type }: Shape): boolean => type === 'constant';
    const [ones, others] = [read(one), read(other)];
    if (!ones.every(isConstant) || !others.every(isConstant)) return false;
    return ones.every((shape) => others.every((second) => areDisjoint(shape, second, read)));
  });
}

/** The member of a variant that tells it apart, and its value; undefined: there is none. */
export function discriminantOf(a: Shape, read: ReadShapes): readonly [string, unknown] | undefined {
  if (a.type !== 'object') return undefined;
  for (const name of a.required) {
    const [shape, ...more] = read(a.members.get(name) ?? []);
    if (shape?.type === 'constant' && more.length === 0) return [name, shape.value];
  }
  return undefined;
}
