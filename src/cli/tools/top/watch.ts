import { messageOf } from '../../../base/message-of.ts';
import { Screen } from './screen.ts';
import type { Room } from './view.ts';

/** What is shown again and again. */
export interface Watched {
  /** @param trouble why the last look failed; the empty text: it did not */
  draw(trouble: string, room: Room): readonly string[];
  /** Looks anew. Where it rejects, the view shows the last figures. */
  look(): Promise<void>;
}

/** Shows it until the user ends the view. */
export async function watch(watched: Watched, intervalMs: number): Promise<void> {
  let trouble = '';
  let isOver = false;
  let wake = (): void => {};
  const draw = (): void => screen.draw(watched.draw(trouble, screen.room));
  const end = (): void => {
    isOver = true;
    wake();
  };
  const screen = new Screen(end, () => draw());
  try {
    for (;;) {
      draw();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, intervalMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      if (isOver) return;
      try {
        await watched.look();
        trouble = '';
      } catch (error) {
        // A server that restarts is back in a moment.
        trouble = messageOf(error);
      }
      if (isOver) return;
    }
  } finally {
    screen.close();
  }
}
