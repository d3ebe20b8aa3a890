import { useEffect, useRef, useState } from 'preact/hooks';

interface Question {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly onYes: () => void;
}

export const destructive = 'It is declared destructive: what it does may not be undone.';

/** @returns a function that asks before something that can't be undone, and the place of the question in the view */
export function useConfirm() {
  const [asked, ask] = useState<Question>();
  return [ask, asked && <Confirm {...asked} onEnd={() => ask(undefined)} />] as const;
}

function Confirm({ title, text, action, onYes, onEnd }: Question & { readonly onEnd: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="card" aria-labelledby="confirm-title" onClose={onEnd}>
      <h2 class="head" id="confirm-title">
        {title}
      </h2>
      <p>{text}</p>
      <form class="row actions" method="dialog">
        <button type="submit">Cancel</button>
        <button type="submit" class="primary danger" onClick={onYes}>
          {action}
        </button>
      </form>
    </dialog>
  );
}
