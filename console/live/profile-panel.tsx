import { useEffect, useRef, useState } from 'preact/hooks';
import type { Profile } from '../../src/extras/insight/analysis.ts';
import { profileUrl } from '../facts.ts';
import { lazyPart } from '../parts/lazy-part.tsx';
import { requestHeaders } from '../state/headers.ts';
import { messageOf } from '../state/registry.ts';

const FlameView = lazyPart(async () => (await import('../profile/flame-view.tsx')).FlameView);

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'taken'; readonly profile: Profile }
  | { readonly is: 'failed'; readonly message: string }
  | { readonly is: 'running'; readonly leave: AbortController };

/** Has the service take a CPU profile, and shows it. */
export function ProfilePanel() {
  const [seconds, setSeconds] = useState(10);
  const [state, setState] = useState<State>({ is: 'idle' });
  const running = useRef<AbortController>(undefined);
  // The profile stops when the page is left.
  useEffect(() => () => running.current?.abort(), []);
  const take = async (): Promise<void> => {
    const leave = new AbortController();
    running.current = leave;
    setState({ is: 'running', leave });
    try {
      const response = await fetch(`${profileUrl}?seconds=${seconds}`, {
        method: 'POST',
        headers: requestHeaders(),
        signal: leave.signal,
      });
      const body = (await response.json()) as unknown;
      if (response.ok) setState({ is: 'taken', profile: body as Profile });
      else {
        const message = messageOf(body as never) ?? `the server answered ${response.status}`;
        setState({ is: 'failed', message });
      }
    } catch (error) {
      if (leave.signal.aborted) setState({ is: 'idle' });
      else setState({ is: 'failed', message: String(error) });
    }
  };
  return (
    <section aria-labelledby="profile-title">
      <h2 id="profile-title">Profile</h2>
      <form
        class="flame-head"
        onSubmit={(event) => {
          event.preventDefault();
          void take();
        }}
      >
        <label>
          Seconds{' '}
          <input
            type="number"
            min={1}
            max={60}
            required
            value={seconds}
            onInput={({ currentTarget }) => setSeconds(currentTarget.valueAsNumber)}
          />
        </label>
        <button type="submit" disabled={state.is === 'running'}>
          Take a profile
        </button>
        {state.is === 'running' && (
          <button type="button" onClick={() => state.leave.abort()}>
            Stop
          </button>
        )}
        <span role="status">
          {state.is === 'running' && `The threads are watched for ${seconds} s…`}
        </span>
      </form>
      {state.is === 'failed' && (
        <p class="fault" role="alert">
          {state.message}
        </p>
      )}
      {state.is === 'taken' && <FlameView profile={state.profile} />}
    </section>
  );
}
