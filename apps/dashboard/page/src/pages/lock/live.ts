import { useEffect, useRef } from "preact/hooks";
import type { LockDetail, LockRow } from "../../../../src/contract/api.js";
import { announce } from "../../app/announce.js";
import { listen, stream } from "../../app/store.js";
import { throttle } from "../../app/throttle.js";
import { whyNoHolders } from "../../format/absence.js";
import { nameOf } from "../../format/participant.js";

/** Announces to screen readers that the lock has passed to another client. */
export function useHandOffAnnounced(detail: LockDetail | null): void {
  const before = useRef<LockRow | undefined>(undefined);
  useEffect(() => {
    const earlier = before.current;
    const lock = detail?.lock;
    before.current = lock;
    if (
      detail === null ||
      lock === undefined ||
      earlier === undefined ||
      earlier.id !== lock.id ||
      earlier.version === lock.version
    )
      return;
    const [holder] = lock.holders;
    announce(holder === undefined ? whyNoHolders(detail) : `Now held by ${nameOf(holder).main}`);
  }, [detail]);
}

/** Calls `reload`, at most twice a second, while the stream reports that this lock has changed or is gone. */
export function useLockChanges(id: string, reload: () => void): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const who = {};
    stream.want(who, { rows: [id], overview: false, findings: false });
    const soon = throttle(500, () => latest.current());
    const end = listen({
      locks: (rows) => rows.some((row) => row.id === id) && soon(),
      gone: (ids) => ids.includes(id) && soon(),
    });
    return () => {
      end();
      soon.end();
      stream.want(who, null);
    };
  }, [id]);
}
