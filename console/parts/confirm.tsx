import { useEffect, useRef } from 'preact/hooks';

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly onAnswer: (isYes: boolean) => void;
}

/** Asks before something that can't be undone. */
export function Confirm({ title, text, action, onAnswer }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="confirm-title"
      onCancel={(event) => {
        event.preventDefault();
        onAnswer(false);
      }}
    >
      <h2 id="confirm-title">{title}</h2>
      <p>{text}</p>
      <div class="row actions">
        <button type="button" onClick={() => onAnswer(false)}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={() => onAnswer(true)}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
