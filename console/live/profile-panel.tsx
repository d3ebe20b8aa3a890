import { useEffect, useRef, useState } from 'preact/hooks';
import type { Profile } from '../../src/extras/insight/analysis.ts';
import { profileUrl } from '../facts.ts';
import { lazyPart } from '../parts/lazy-part.tsx';
import { type Failed, failedBy, refusedBy } from '../state/failure.ts';
import { requestHeaders } from '../state/headers.ts';

const FlameView = lazyPart(async () => (await import('../profile/flame-view.tsx')).FlameView);

type State =
  | { readonly state: 'idle' }
  | { readonly state: 'taken'; readonly profile: Profile }
  | Failed
  | { readonly state: 'running'; readonly leave: AbortController };

/** Has the service take a CPU profile, and shows it. */
export function ProfilePanel() {
  const [seconds, setSeconds] = useState(10);
  const [state, setState] = useState<State>({ state: 'idle' });
  const running = useRef<AbortController>(undefined);
  // The profile stops when the page is left.
  useEffect(() => () => running.current?.abort(), []);
  const take = async (): Promise<void> => {
    const leave = new AbortController();
    running.current = leave;
    setState({ state: 'running', leave });
    try {
      const response = await fetch(`${profileUrl}?seconds=${seconds}`, {
        method: 'POST',
        headers: requestHeaders(),
        signal: leave.signal,
      });
      const body = (await response.json()) as unknown;
      setState(
        response.ok ? { state: 'taken', profile: body as Profile } : refusedBy(response, body),
      );
    } catch (error) {
      setState(leave.signal.aborted ? { state: 'idle' } : failedBy(error));
    }
  };
  return (
    <section aria-labelledby="profile-title">
      <h2 id="profile-title">Profile</h2>
      <form
        class="row head"
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
        <button type="submit" disabled={state.state === 'running'}>
          Take a profile
        </button>
        {state.state === 'running' && (
          <button type="button" onClick={() => state.leave.abort()}>
            Stop
          </button>
        )}
        <span role="status">
          {state.state === 'running' && `The threads are watched for ${seconds} s…`}
        </span>
      </form>
      {state.state === 'failed' && (
        <p class="fault" role="alert">
          {state.message}
        </p>
      )}
      {state.state === 'taken' && <FlameView profile={state.profile} />}
    </section>
  );
}
