import type { Method } from './document.ts';
import { block, type Member, memberLines } from './piece.ts';
import { docComment, memberName, quoted } from './text.ts';

/** A segment of names: a procedure ends here, or others go on, or both. */
interface Node {
  method: Method | undefined;
  readonly children: Map<string, Node>;
}

/** Most segments of a name that becomes a member. */
const maxLevels = 32;

/** Names that a client leaves to JavaScript, on every level, and names of its own. See `Ordinary` of the client's types. */
const ordinary = new Set(['then', 'toJSON', ...Object.getOwnPropertyNames(Object.prototype)]);
const ofClient = new Set(['call', 'notify', 'batch']);

/** The member of the contract that leads to the tree. */
export const treeMember = 'readonly [procedures]?: Procedures;\n';

/**
 * The procedures nested by the segments of their names: what `createClient<Contract>` gives. An editor goes from a call to
 * its member here, and shows the doc comment.
 */
export function treeText(methods: readonly Method[], docOf: (method: Method) => string[]): string {
  const root: Node = { method: undefined, children: new Map() };
  for (const method of methods) {
    const segments = method.name.split('.');
    if (isReached(segments)) nodeOf(root, segments).method = method;
  }
  const doc = docComment(['The procedures by the segments of their names, as a client has them.']);
  const lines = memberLines(membersOf(root, docOf));
  return `declare const procedures: unique symbol;\n\n${doc}interface Procedures ${block(lines)}\n`;
}

/** Whether the proxy of a client follows the segments. The other procedures are reached by `call`. */
function isReached(segments: readonly string[]): boolean {
  const [first = ''] = segments;
  return (
    segments.length <= maxLevels &&
    !ofClient.has(first) &&
    !segments.some((segment) => ordinary.has(segment))
  );
}

function nodeOf(root: Node, segments: readonly string[]): Node {
  let node = root;
  for (const segment of segments) {
    let child = node.children.get(segment);
    if (child === undefined) {
      child = { method: undefined, children: new Map() };
      node.children.set(segment, child);
    }
    node = child;
  }
  return node;
}

function membersOf({ children }: Node, docOf: (method: Method) => string[]): Member[] {
  return [...children].map(([name, { method, children: below }]) => {
    const own = method === undefined ? '' : `Method<Contract[${quoted(method.name)}]>`;
    const inner = membersOf({ method, children: below }, docOf);
    const parts = [own, inner.length === 0 ? '' : block(memberLines(inner))];
    return {
      name: `readonly ${memberName(name)}`,
      optional: false,
      type: parts.filter((part) => part !== '').join(' & '),
      doc: method === undefined ? [] : docOf(method),
    };
  });
}
