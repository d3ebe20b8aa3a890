import { ensureSyntaxTree, syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import type { Place } from './suggestions.ts';

type Node = ReturnType<ReturnType<typeof syntaxTree>['resolveInner']>;

/** Where the cursor is within the value: the names that lead there, and whether a name or a value is to come. */
export function placeAt(state: EditorState, pos: number): Place {
  const node = syntaxTree(state).resolveInner(pos, -1);
  const isLeaf = ['PropertyName', 'String', 'Number', 'True', 'False', 'Null'].includes(node.name);
  // What is not whole yet is no leaf: a quote without the other one, the beginning of a word.
  const begun = /"[^"\n,:{}[\]]*$|[\w.+-]+$/.exec(state.sliceDoc(Math.max(0, pos - 200), pos));
  const from = isLeaf ? node.from : pos - (begun?.[0].length ?? 0);
  const last = state
    .sliceDoc(Math.max(0, from - 200), from)
    .trimEnd()
    .at(-1);
  const isName = last === '{' || (last === ',' && enclosing(node)?.name === 'Object');
  const path: string[] = [];
  // Behind a colon and a blank the parser sees no value yet, and so no property around the cursor.
  if (node.name === 'Object' && last === ':') path.unshift(...lastName(state, node, pos));
  for (let at: Node | null = node; at !== null; at = at.parent) {
    const isOwnName = isName && path.length === 0 && at === (isLeaf ? node.parent : undefined);
    if (at.name === 'Property' && !isOwnName) path.unshift(...nameOf(state, at));
    if (at.parent?.name === 'Array') path.unshift('*');
  }
  const object = isName ? enclosing(node) : null;
  const present = (object?.getChildren('Property') ?? [])
    .filter((property) => property.from !== from)
    .flatMap((property) => nameOf(state, property));
  return { path, isName, present, from };
}

/** The object or the list that a node is in, or is. */
function enclosing(node: Node): Node | null {
  let at: Node | null = node;
  while (at !== null && at.name !== 'Object' && at.name !== 'Array') at = at.parent;
  return at;
}

function nameOf(state: EditorState, property: Node): string[] {
  const name = property.getChild('PropertyName');
  return name === null ? [] : [JSON.parse(state.sliceDoc(name.from, name.to)) as string];
}

function lastName(state: EditorState, object: Node, pos: number): string[] {
  const property = object.getChildren('Property').findLast(({ from }) => from < pos);
  return property === undefined ? [] : nameOf(state, property);
}

/** A value in the text. */
interface Found {
  readonly from: number;
  readonly to: number;
  /** What is left of the pointer: the member is missing, and this is the object that lacks it. */
  readonly rest: string;
}

/** How long the editor may parse a long text to find a value, milliseconds. */
const parseMs = 200;

const valueNames = new Set(['Object', 'Array', 'String', 'Number', 'True', 'False', 'Null']);

/** The value of a JSON Pointer, or the last one on the way to it that is there. */
export function valueAt(state: EditorState, pointer: string): Found {
  const tree = ensureSyntaxTree(state, state.doc.length, parseMs) ?? syntaxTree(state);
  let [value] = valuesIn(tree.topNode);
  if (value === undefined) return { from: 0, to: 0, rest: pointer };
  const steps = pointer.split('/').slice(1);
  for (const [index, step] of steps.entries()) {
    const next = childOf(state, value, step.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (next === undefined) {
      return { from: value.from, to: value.to, rest: `/${steps.slice(index).join('/')}` };
    }
    value = next;
  }
  return { from: value.from, to: value.to, rest: '' };
}

function valuesIn(node: Node): Node[] {
  const found: Node[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (valueNames.has(child.name)) found.push(child);
  }
  return found;
}

/** @param step the name of a member, or the number of an item */
function childOf(state: EditorState, value: Node, step: string): Node | undefined {
  if (value.name === 'Array') return valuesIn(value)[Number(step)];
  // Of several members with one name the last counts.
  const property = value
    .getChildren('Property')
    .findLast((one) => nameOf(state, one).includes(step));
  return property && valuesIn(property)[0];
}
