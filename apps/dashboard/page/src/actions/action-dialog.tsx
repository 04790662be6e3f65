import { shownName } from "@holdfast/collectors/internal";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ActionAnswer, LockDetail, LockRow } from "../../../src/contract/api.js";
import { act, pathWith } from "../api/client.js";
import { ApiFailure, refusalOf } from "../api/failure.js";
import { announce } from "../app/announce.js";
import { me } from "../app/store.js";
import { useResource } from "../app/use-resource.js";
import type { View } from "../app/view.js";
import { whyNoEffects } from "../format/absence.js";
import { instant } from "../format/instant.js";
import { Age } from "../parts/age.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Who } from "../parts/who.js";
import { type ActionName, actionNames, confirmation, hindrance, outcomeOf } from "./words.js";

export interface Chosen {
  readonly action: ActionName;
  readonly entry: string | null;
}

function Holders({ title, lock, view }: { title: string; lock: LockRow | null; view: View }): JSX.Element {
  return (
    <div class="compare">
      <h3>{title}</h3>
      {lock === null || lock.holders.length === 0 ? (
        <p>{lock === null ? "not there" : "none"}</p>
      ) : (
        lock.holders.map((each) => (
          <p key={each.entry}>
            <Who participant={each} cluster={lock.cluster} /> <Age of={each.since} zone={view.zone} />
          </p>
        ))
      )}
      {lock !== null && <p class="note key">token {lock.token ?? "none"}</p>}
    </div>
  );
}

function useTick(ms: number): number {
  const [at, setAt] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setAt(Date.now()), ms);
    return () => clearInterval(timer);
  }, [ms]);
  return at;
}

function Effects({ sentences }: { sentences: readonly string[] }): JSX.Element {
  return (
    <ul class="effects">
      {sentences.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}

/**
 * Asks before it acts. The lock is read anew when the dialog opens and every 4 s while it is open; when the holder changes meanwhile,
 * the name has to be typed again. The server compares once more in the moment of the act.
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
  const [seen, setSeen] = useState<{ version: string; sinceMs: number; readMs: number } | null>(null);
  const [typed, setTyped] = useState("");
  const [library, setLibrary] = useState("");
  const [reason, setReason] = useState("");
  const [sending, setSending] = useState(false);
  const [answer, setAnswer] = useState<{ body: ActionAnswer; dryRun: boolean; looked: LockRow } | null>(null);
  const [refusal, setRefusal] = useState<string | null>(null);
  const tick = useTick(250);

  useEffect(() => {
    if (data === null) return;
    const nowMs = Date.now();
    setSeen((before) => {
      const same = before !== null && before.version === data.lock.version;
      return { version: data.lock.version, sinceMs: same ? before.sinceMs : nowMs, readMs: nowMs };
    });
  }, [data]);
  const version = data?.lock.version ?? null;
  // Another version is another holder, who has to be named anew; the first that is read is the one that was meant.
  const known = useRef<string | null>(null);
  useEffect(() => {
    if (known.current !== null && known.current !== version) setTyped("");
    known.current = version;
  }, [version]);
  useEffect(() => {
    setAnswer(null);
    setRefusal(null);
    setTyped("");
    setLibrary("");
    setSeen((before) => before && { ...before, sinceMs: Date.now() });
  }, [action, entry]);

  const current = data?.actions.find((each) => each.action === action && each.entry === entry);
  const revoke = data?.actions.find((each) => each.action === "request-revoke");
  const changed = version !== null && shown.version !== version;
  // The present holder was not meant; to mean it takes another decision.
  const other =
    current === undefined && action !== "evict-waiter"
      ? data?.actions.find((each) => each.action === action)
      : undefined;
  const key = shown.key;
  const why =
    data !== null && current === undefined
      ? whyNoEffects(data)
      : hindrance({
          action,
          key,
          typed,
          unknownLibrary: current?.unknownLibrary === true,
          library,
          reason,
          openMs: seen === null ? 0 : tick - seen.sinceMs,
          readAgoMs: seen === null ? null : tick - seen.readMs,
        });

  const send = async (dryRun: boolean): Promise<void> => {
    const who = me.peek();
    if (who === null || data === null) return;
    const looked = data.lock;
    setSending(true);
    setRefusal(null);
    try {
      const body = await act(shown.id, who.csrfToken, {
        action,
        entry,
        expectedVersion: looked.version,
        // What was typed has been compared: there are names that no input takes.
        confirmation: key,
        ...(!dryRun && library === "unknown" ? { library } : {}),
        reason: dryRun && reason.trim().length < 3 ? "dry run" : reason.trim(),
        dryRun,
      });
      setAnswer({ body, dryRun, looked });
      announce(outcomeOf(body).text);
      if (!dryRun) setTyped("");
      reload();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      setRefusal(refusalOf(error, !dryRun));
    } finally {
      setSending(false);
    }
  };

  const over = answer !== null && !answer.dryRun && answer.body.outcome === "done";
  const outcome = answer === null ? null : outcomeOf(answer.body);
  return (
    <Dialog title={words.title} wide onClose={onClose}>
      <p class="lead key">{shownName(key)}</p>
      {entry !== null && (
        <p class="note">
          Entry <span class="key">{entry}</span>
        </p>
      )}
      {answer !== null && outcome !== null && (
        <div class={`result ${outcome.tone}`} role="status">
          <p>
            <strong>{outcome.text}</strong>
          </p>
          <Effects sentences={answer.body.effects} />
          {answer.body.outcome === "conflict" && (
            <div class="two">
              <Holders title="When you looked" lock={answer.looked} view={view} />
              <Holders title="Now" lock={answer.body.after ?? answer.body.before} view={view} />
            </div>
          )}
          <p>
            <a href={view.href("audit", { id: answer.body.auditId })} onClick={onClose}>
              Audit row {answer.body.auditId}
            </a>
          </p>
        </div>
      )}
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
          {changed && answer === null && data !== null && (
            <div class="result warn" role="alert">
              <p>
                <strong>The holder has changed since you looked.</strong> What follows is about the present
                holder.
              </p>
              <div class="two">
                <Holders title="When you looked" lock={shown} view={view} />
                <Holders title="Now" lock={data.lock} view={view} />
              </div>
            </div>
          )}
          {!changed && data !== null && (
            <Holders
              title={data.lock.holderCount > 1 ? "Holders now" : "Holder now"}
              lock={data.lock}
              view={view}
            />
          )}
          <h3>What it does</h3>
          {current === undefined ? (
            <p>
              {data === null ? "Reading…" : whyNoEffects(data)}{" "}
              {data !== null && other !== undefined && (
                <button
                  type="button"
                  class="link"
                  onClick={() => onChoose({ action, entry: other.entry }, data.lock)}
                >
                  Look at it for the present one
                </button>
              )}
            </p>
          ) : (
            <Effects sentences={current.effects} />
          )}
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
          {!words.harmless && (
            <label class="field">
              <span>
                {confirmation(action, key) === key
                  ? "Type the name of the lock"
                  : "Type, as the name cannot be typed"}
                : <code>{confirmation(action, key)}</code>
              </span>
              <input
                data-first
                value={typed}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setTyped(event.currentTarget.value)}
              />
            </label>
          )}
          {current?.unknownLibrary === true && (
            <label class="field">
              <span>
                No known library has made it, so it may not be a lock at all. If you are sure, type{" "}
                <code>unknown</code>
              </span>
              <input
                value={library}
                autocomplete="off"
                spellcheck={false}
                onInput={(event) => setLibrary(event.currentTarget.value)}
              />
            </label>
          )}
          <label class="field">
            <span>Reason, for the audit log</span>
            <textarea
              {...(words.harmless && { "data-first": true })}
              rows={2}
              maxLength={500}
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
            />
          </label>
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
