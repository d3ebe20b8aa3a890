import { scheme } from '../state/scheme.ts';

/**
 * Draws now, and again when the element has another size or the page other colours.
 *
 * @returns what ends it
 */
export function keepDrawn(element: Element, draw: () => void, onSize = draw): () => void {
  draw();
  const size = new ResizeObserver(onSize);
  size.observe(element);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', draw);
  const stop = scheme.subscribe(draw);
  return () => {
    stop();
    dark.removeEventListener('change', draw);
    size.disconnect();
  };
}
