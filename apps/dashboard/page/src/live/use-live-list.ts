import { useEffect, useRef, useState } from "preact/hooks";
import type { Locks } from "../../../src/contract/api.js";
import { listen, stream } from "../app/store.js";
import { throttle } from "../app/throttle.js";
import { apply, emptyList, type FrozenList, lose, refresh, relist } from "./frozen-list.js";

export interface LiveList {
  readonly list: FrozenList;
  /** Whether the list has the answer to this path. Before that, it has what was shown for another one. */
  readonly isOfPath: boolean;
  /** Shows the changes that wait. */
  showNow(): void;
  /** Nothing in the table may move while the pointer is on it or the focus is in it. */
  touch(by: "pointer" | "focus"): void;
  leave(by: "pointer" | "focus"): void;
}

/** The rows of a list of locks on screen: those of the last answer, with what the stream has reported since. */
export function useLiveList(path: string, data: Locks | null, reload: () => void): LiveList {
  const [list, setList] = useState(emptyList);
  const [shownPath, setShownPath] = useState(path);
  const touched = useRef({ pointer: false, focus: false });
  const frozen = (): boolean => touched.current.pointer || touched.current.focus;
  const latest = useRef(reload);
  latest.current = reload;

  useEffect(() => {
    if (data === null) return;
    setList((before) => relist(before, data.rows, shownPath === path && frozen()));
    setShownPath(path);
  }, [data]);

  const ids = list.rows.map(({ id }) => id).join(",");
  useEffect(() => {
    const who = {};
    stream.want(who, { rows: ids === "" ? [] : ids.split(","), overview: false, findings: false });
    return () => stream.want(who, null);
  }, [ids]);
  useEffect(() => {
    const soon = throttle(2000, () => latest.current());
    const end = listen({
      locks: (rows) => setList((before) => refresh(before, rows)),
      gone: (lost) => setList((before) => lose(before, lost)),
      changes: soon,
    });
    return () => {
      end();
      soon.end();
    };
  }, []);

  return {
    list,
    isOfPath: shownPath === path,
    showNow: () => setList(apply),
    touch: (by) => {
      touched.current[by] = true;
    },
    leave: (by) => {
      touched.current[by] = false;
      if (!frozen()) setList((before) => (before.pending > 0 ? apply(before) : before));
    },
  };
}
