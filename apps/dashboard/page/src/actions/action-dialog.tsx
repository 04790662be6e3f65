import { shownName } from "@holdfast/collectors/internal";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { LockDetail, LockRow } from "../../../src/contract/api.js";
import { act, pathWith } from "../api/client.js";
import { ApiFailure, refusalOf } from "../api/failure.js";
import { announce } from "../app/announce.js";
import { me } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import type { View } from "../app/view.js";
import { whyNoEffects } from "../format/absence.js";
import { instant } from "../format/instant.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { type Answered, Fields, Present, Result, WhatItDoes, type Written } from "./dialog-parts.js";
import { type ActionName, actionNames, hindrance, outcomeOf } from "./words.js";

export interface Chosen {
  readonly action: ActionName;
  readonly entry: string | null;
}

function useTick(ms: number): number {
  const [at, setAt] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setAt(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return at;
}

interface Seen {
  readonly version: string;
  /** The time from which on this version has been on screen for this action. */
  readonly sinceMs: number;
  readonly readMs: number;
}

function useSeen(data: LockDetail | null, { action, entry }: Chosen): Seen | null {
  const [seen, setSeen] = useState<Seen | null>(null);
  useEffect(() => {
    if (data === null) return;
    const nowMs = Date.now();
    setSeen((before) => {
      const same = before !== null && before.version === data.lock.version;
      return { version: data.lock.version, sinceMs: same ? before.sinceMs : nowMs, readMs: nowMs };
    });
  }, [data]);
  useEffect(() => {
    setSeen((before) => before && { ...before, sinceMs: Date.now() });
  }, [action, entry]);
  return seen;
}

/**
 * Asks before it acts. The lock is read anew when the dialog opens, and every 4 s while it is open. If the holder
 * changes meanwhile, the name has to be typed again. The server compares once more at the moment of the action.
 */
export function ActionDialog(props: {
  shown: LockRow;
  chosen: Chosen;
  view: View;
  onChoose: (chosen: Chosen, lock: LockRow) => void;
  onClose: () => void;
}): JSX.Element {
  const { shown, chosen, view, onChoose, onClose } = props;
  const { action, entry } = chosen;
  const words = actionNames[action];
  const { data, failure, reload } = useResource<LockDetail>(
    pathWith(`locks/${encodeURIComponent(shown.id)}`),
    4000,
  );
  const seen = useSeen(data, chosen);
  const [written, setWritten] = useState<Written>({ typed: "", library: "", reason: "" });
  const write = (changed: Partial<Written>): void => setWritten((before) => ({ ...before, ...changed }));
  const [sending, setSending] = useState(false);
  const [answer, setAnswer] = useState<Answered | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const tick = useTick(250);

  const version = data?.lock.version ?? null;
  // Another version means another holder, for whom the name must be typed again. The first version that is read is the
  // one meant.
  const known = useRef<string | null>(null);
  useEffect(() => {
    if (known.current !== null && known.current !== version) write({ typed: "" });
    known.current = version;
  }, [version]);
  useEffect(() => {
    setAnswer(null);
    setRefusal(null);
    write({ typed: "", library: "" });
  }, [action, entry]);

  const current = data?.actions.find((each) => each.action === action && each.entry === entry);
  const revoke = data?.actions.find((each) => each.action === "request-revoke");
  const unknownLibrary = current?.unknownLibrary === true;
  const key = shown.key;
  const why =
    data !== null && current === undefined
      ? whyNoEffects(data)
      : hindrance({
          action,
          key,
          ...written,
          unknownLibrary,
          openMs: seen === null ? 0 : tick - seen.sinceMs,
          readAgoMs: seen === null ? null : tick - seen.readMs,
        });

  const send = async (dryRun: boolean): Promise<void> => {
    const who = me.peek();
    if (who === null || data === null) return;
    const looked = data.lock;
    const { library, reason } = written;
    setSending(true);
    setRefusal(null);
    try {
      const body = await act(shown.id, who.csrfToken, {
        action,
        entry,
        expectedVersion: looked.version,
        // The typed text has been compared already. The key is sent instead, because no input accepts some names.
        confirmation: key,
        ...(!dryRun && library === "unknown" ? { library } : {}),
        reason: dryRun && reason.trim().length < 3 ? "dry run" : reason.trim(),
        dryRun,
      });
      setAnswer({ body, dryRun, looked });
      announce(outcomeOf(body).text);
      if (!dryRun) write({ typed: "" });
      reload();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      setRefusal(refusalOf(error, !dryRun));
    } finally {
      setSending(false);
    }
  };

  const over = answer !== null && !answer.dryRun && answer.body.outcome === "done";
  return (
    <Dialog title={words.title} wide onClose={onClose}>
      <p class="lead key">{shownName(key)}</p>
      {entry !== null && (
        <p class="note">
          Entry <span class="key">{entry}</span>
        </p>
      )}
      {answer !== null && <Result answer={answer} view={view} onClose={onClose} />}
      {refusal !== null && (
        <p class="notice bad" role="alert">
          <Icon name="critical" />
          <span>{refusal}</span>
        </p>
      )}
      {over ? (
        <footer>
          <button type="button" onClick={onClose}>
            Close
          </button>
        </footer>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (why === null && !sending) void send(false);
          }}
        >
          {failure !== null && (
            <p class="notice warn" role="alert">
              <Icon name="warning" />
              <span>The lock cannot be read again: {failure.message}</span>
            </p>
          )}
          {data !== null && <Present shown={shown} lock={data.lock} answered={answer !== null} view={view} />}
          <h3>What it does</h3>
          <WhatItDoes
            data={data}
            action={action}
            current={current}
            onOther={(other, lock) => onChoose({ action, entry: other }, lock)}
          />
          {!words.harmless && revoke !== undefined && (
            <p class="notice info">
              <Icon name="info" />
              <span>
                The holder can be asked first.{" "}
                <button
                  type="button"
                  class="link"
                  onClick={() =>
                    onChoose({ action: "request-revoke", entry: revoke.entry }, data?.lock ?? shown)
                  }
                >
                  Ask the holder to release instead
                </button>
              </span>
            </p>
          )}
          <Fields
            action={action}
            lockKey={key}
            unknownLibrary={unknownLibrary}
            written={written}
            write={write}
          />
          <footer>
            <p class="note" aria-live="polite">
              {why ?? "Ready."}
              {seen !== null && ` Read at ${instant(seen.readMs, view.zone).slice(11, 19)}.`}
            </p>
            <button
              type="button"
              disabled={sending || version === null || current === undefined}
              onClick={() => void send(true)}
            >
              Dry run
            </button>
            <button
              type="submit"
              class={words.harmless ? "primary" : "danger"}
              disabled={why !== null || sending}
            >
              {sending ? "Sending…" : words.verb}
            </button>
          </footer>
        </form>
      )}
    </Dialog>
  );
}
