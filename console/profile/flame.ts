import {
  type CallNode,
  joinThreads,
  type ThreadProfile,
} from '../../src/extras/insight/analysis.ts';

/** A frame of the graph: a function, called by the frame above it. */
export interface Frame {
  readonly node: CallNode;
  readonly parent: Frame | undefined;
  readonly depth: number;
  /** Of the width of the whole graph, from 0 to 1. */
  readonly from: number;
  readonly share: number;
}

/** Height of a row, pixels. */
export const rowHeight = 18;

/** A narrower frame is not drawn, pixels. */
const minWidth = 0.75;

/** Narrower frames have no text, pixels. */
const minText = 28;

/** The call tree of threads, without what is no work. */
export function workOf(threads: readonly ThreadProfile[]): CallNode {
  const tree = joinThreads(threads);
  for (const [key, child] of tree.children) {
    if (child.name !== '(idle)') continue;
    tree.total -= child.total;
    tree.children.delete(key);
  }
  return tree;
}

/** All frames of a tree, the callers before what they call. */
export function framesOf(tree: CallNode): Frame[] {
  const frames: Frame[] = [];
  const add = (node: CallNode, parent: Frame | undefined, from: number): void => {
    const share = tree.total === 0 ? 0 : node.total / tree.total;
    const depth = parent === undefined ? 0 : parent.depth + 1;
    const frame = { node, parent, depth, from, share };
    frames.push(frame);
    let at = from;
    for (const child of [...node.children.values()].sort((a, b) => b.total - a.total)) {
      add(child, frame, at);
      at += child.total / tree.total;
    }
  };
  add(tree, undefined, 0);
  return frames;
}

/** A frame on the canvas, pixels. */
export interface Box {
  readonly frame: Frame;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** Where frames are drawn if `zoom` is as wide as the graph: it, its callers, and what it calls. */
export function layOut(frames: readonly Frame[], zoom: Frame, width: number): Box[] {
  const callers = new Set<Frame>();
  for (let up = zoom.parent; up !== undefined; up = up.parent) callers.add(up);
  const boxes: Box[] = [];
  for (const frame of frames) {
    const y = frame.depth * rowHeight;
    if (callers.has(frame)) {
      boxes.push({ frame, x: 0, y, width });
      continue;
    }
    const isWithin =
      frame.depth >= zoom.depth &&
      frame.from >= zoom.from - 1e-9 &&
      frame.from + frame.share <= zoom.from + zoom.share + 1e-9;
    if (!isWithin) continue;
    const box = {
      frame,
      x: ((frame.from - zoom.from) / zoom.share) * width,
      y,
      width: (frame.share / zoom.share) * width,
    };
    if (box.width >= minWidth) boxes.push(box);
  }
  return boxes;
}

/** @param isFound which functions are marked; undefined: nothing is searched */
export function draw(
  canvas: HTMLCanvasElement,
  boxes: readonly Box[],
  selected: Frame,
  isFound: ((frame: Frame) => boolean) | undefined,
): void {
  const rows = Math.max(1, ...boxes.map(({ y }) => y / rowHeight + 1));
  const width = canvas.clientWidth;
  const ratio = devicePixelRatio || 1;
  canvas.style.height = `${rows * rowHeight}px`;
  canvas.width = width * ratio;
  canvas.height = rows * rowHeight * ratio;
  const pen = canvas.getContext('2d');
  if (pen === null) return;
  const style = getComputedStyle(canvas);
  // The colours are those of light text on dark, or of dark text on light.
  const isDark = Number(/\d+/.exec(style.color)?.[0]) > 128;
  pen.scale(ratio, ratio);
  pen.font = `12px ${style.fontFamily}`;
  pen.textBaseline = 'middle';
  for (const { frame, x, y, width: wide } of boxes) {
    const { node } = frame;
    pen.globalAlpha = isFound === undefined || isFound(frame) ? 1 : 0.3;
    const strength = node.url === '' ? 0 : 45;
    pen.fillStyle = `hsl(${hueOf(node.url)} ${strength}% ${isDark ? 28 : 82}%)`;
    pen.fillRect(x, y, Math.max(wide - 1, 0.5), rowHeight - 1);
    if (wide >= minText) {
      pen.save();
      pen.beginPath();
      pen.rect(x, y, wide - 4, rowHeight);
      pen.clip();
      pen.fillStyle = style.color;
      pen.fillText(node.name, x + 4, y + rowHeight / 2);
      pen.restore();
    }
    if (frame !== selected) continue;
    pen.globalAlpha = 1;
    pen.strokeStyle = style.color;
    pen.lineWidth = 2;
    pen.strokeRect(x + 1, y + 1, Math.max(wide - 3, 1), rowHeight - 3);
  }
}

function hueOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) | 0;
  return 10 + (Math.abs(hash) % 60);
}

/** The frame that an arrow key leads to. */
export function neighbour(boxes: readonly Box[], from: Frame, key: string): Frame | undefined {
  const shown = boxes.map(({ frame }) => frame);
  if (key === 'ArrowUp') return from.parent;
  if (key === 'ArrowDown') return shown.find(({ parent }) => parent === from);
  const row = shown.filter(({ depth }) => depth === from.depth);
  return row[row.indexOf(from) + (key === 'ArrowRight' ? 1 : -1)];
}
