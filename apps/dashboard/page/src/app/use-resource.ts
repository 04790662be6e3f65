import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.js";
import { ApiFailure } from "../api/failure.js";
import { heard, listen, paused } from "./store.js";

export interface Resource<T> {
  /** The last answer, kept when a later try fails. */
  readonly data: T | null;
  readonly failure: ApiFailure | null;
  /** Whether the first answer has not come yet. */
  readonly loading: boolean;
  /** Asks now; at most one request is under way. */
  reload(): void;
}

interface Held<T> {
  path: string | null;
  data: T | null;
  failure: ApiFailure | null;
}

/**
 * The answer of the API to `path`. It is asked again every `everyMs`, unless the page is paused or hidden, and whenever
 * the stream has come back. `null` asks nothing. Another path starts with no data, so that no page shows the object of
 * another.
 */
export function useResource<T>(path: string | null, everyMs: number | null = null): Resource<T> {
  const [held, setHeld] = useState<Held<T>>({ path, data: null, failure: null });
  const ask = useRef<() => void>(() => {});

  useEffect(() => {
    if (path === null) return;
    const end = new AbortController();
    let asking = false;
    let again = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const later = (): void => {
      clearTimeout(timer);
      if (everyMs !== null && !end.signal.aborted) timer = setTimeout(tryNow, everyMs);
    };
    const tryNow = (): void => {
      if (paused.peek() || document.hidden) later();
      else askNow();
    };
    const askNow = (): void => {
      if (asking) {
        again = true;
        return;
      }
      asking = true;
      get<T>(path, end.signal)
        .then(
          (data) => {
            heard((data as { nowMs?: number }).nowMs ?? null);
            setHeld({ path, data, failure: null });
          },
          (error: unknown) => {
            if (end.signal.aborted) return;
            if (!(error instanceof ApiFailure)) throw error;
            setHeld((before) => ({ path, data: before.path === path ? before.data : null, failure: error }));
          },
        )
        .finally(() => {
          asking = false;
          if (end.signal.aborted) return;
          if (again) {
            again = false;
            askNow();
          } else later();
        });
    };
    ask.current = askNow;
    askNow();
    const silence = listen({ ask: askNow });
    return () => {
      end.abort();
      clearTimeout(timer);
      silence();
    };
  }, [path, everyMs]);

  const current = held.path === path ? held : { data: null, failure: null };
  return {
    data: current.data,
    failure: current.failure,
    loading: path !== null && current.data === null && current.failure === null,
    reload: () => ask.current(),
  };
}
