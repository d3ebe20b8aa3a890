import { useEffect } from 'preact/hooks';
import type { Failed } from '../state/failure.ts';
import { addHeader, headers } from '../state/headers.ts';
import { HeadersForm } from './headers-form.tsx';

interface RefusedProps {
  readonly what: string;
  readonly failed: Failed;
}

/** What the page shows where the service says no: its words, and where to write what it wants. */
export function Refused({ what, failed: { message, isRefusal } }: RefusedProps) {
  useEffect(() => {
    if (isRefusal && headers.value.length === 0) addHeader('authorization');
  }, [isRefusal]);
  return (
    <section class="refused" aria-labelledby="refused-title">
      <h1 id="refused-title">
        {isRefusal ? `${what} are not for everybody` : `${what} can’t be loaded`}
      </h1>
      <p class="fault" role="alert">
        {message}
      </p>
      {isRefusal ? (
        <p>
          Whoever runs this service decides who may call. Write what it asks for, and try again.
        </p>
      ) : (
        <p>The service may be starting, or gone. The page tries again by itself.</p>
      )}
      <HeadersForm action="Try again" />
    </section>
  );
}
