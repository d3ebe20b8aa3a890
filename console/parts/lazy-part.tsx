import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** A part of the page that is loaded when it is first shown. */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let loading: Promise<ComponentType<Props>> | undefined;
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props> | undefined>();
    const [failure, setFailure] = useState<string | undefined>();
    useEffect(() => {
      loading ??= load();
      loading.then(
        (component) => setLoaded(() => component),
        (error: unknown) => {
          loading = undefined;
          setFailure(String(error));
        },
      );
    }, []);
    if (Loaded !== undefined) return <Loaded {...props} />;
    if (failure === undefined) return <p class="hint">Loading…</p>;
    return (
      <p class="fault" role="alert">
        This part of the page can’t be loaded: {failure}
      </p>
    );
  };
}
