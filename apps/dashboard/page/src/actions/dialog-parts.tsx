import type { JSX } from "preact";
import type { ActionAnswer, LockDetail, LockRow } from "../../../src/contract/api.js";
import type { View } from "../app/view.js";
import { whyNoEffects } from "../format/absence.js";
import { Age } from "../parts/age.js";
import { Who } from "../parts/who.js";
import { type ActionName, actionNames, confirmation, outcomeOf } from "./words.js";

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

function Effects({ sentences }: { sentences: readonly string[] }): JSX.Element {
  return (
    <ul class="effects">
      {sentences.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}

/** What the server answered, and the lock as it was on screen when the request was sent. */
export interface Answered {
  readonly body: ActionAnswer;
  readonly dryRun: boolean;
  readonly looked: LockRow;
}

export function Result(props: { answer: Answered; view: View; onClose: () => void }): JSX.Element {
  const { answer, view, onClose } = props;
  const { body, looked } = answer;
  const { text, tone } = outcomeOf(body);
  return (
    <div class={`result ${tone}`} role="status">
      <p>
        <strong>{text}</strong>
      </p>
      <Effects sentences={body.effects} />
      {body.outcome === "conflict" && (
        <div class="two">
          <Holders title="When you looked" lock={looked} view={view} />
          <Holders title="Now" lock={body.after ?? body.before} view={view} />
        </div>
      )}
      <p>
        <a href={view.href("audit", { id: body.auditId })} onClick={onClose}>
          Audit row {body.auditId}
        </a>
      </p>
    </div>
  );
}

/**
 * The present holders, and those at the moment when the dialog was opened if they differ. After an answer of the server
 * only the present ones are shown, because the server has compared them.
 */
export function Present(props: {
  shown: LockRow;
  lock: LockRow;
  answered: boolean;
  view: View;
}): JSX.Element | null {
  const { shown, lock, answered, view } = props;
  if (shown.version === lock.version) {
    return <Holders title={lock.holderCount > 1 ? "Holders now" : "Holder now"} lock={lock} view={view} />;
  }
  if (answered) return null;
  return (
    <div class="result warn" role="alert">
      <p>
        <strong>The holder has changed since you looked.</strong> What follows is about the present holder.
      </p>
      <div class="two">
        <Holders title="When you looked" lock={shown} view={view} />
        <Holders title="Now" lock={lock} view={view} />
      </div>
    </div>
  );
}

/** The effects of the action, or why it is not offered. `current` is the offer. */
export function WhatItDoes(props: {
  data: LockDetail | null;
  action: ActionName;
  current: LockDetail["actions"][number] | undefined;
  onOther: (entry: string | null, lock: LockRow) => void;
}): JSX.Element {
  const { data, action, current, onOther } = props;
  if (current !== undefined) return <Effects sentences={current.effects} />;
  // The action was not meant for the present holder. It takes another decision of the user to choose that one.
  const other = action === "evict-waiter" ? undefined : data?.actions.find((each) => each.action === action);
  return (
    <p>
      {data === null ? "Reading…" : whyNoEffects(data)}{" "}
      {data !== null && other !== undefined && (
        <button type="button" class="link" onClick={() => onOther(other.entry, data.lock)}>
          Look at it for the present one
        </button>
      )}
    </p>
  );
}

/** The texts that the operator has typed into the dialog. */
export interface Written {
  readonly typed: string;
  readonly library: string;
  readonly reason: string;
}

export function Fields(props: {
  action: ActionName;
  lockKey: string;
  unknownLibrary: boolean;
  written: Written;
  write: (changed: Partial<Written>) => void;
}): JSX.Element {
  const { action, lockKey, unknownLibrary, written, write } = props;
  const { harmless } = actionNames[action];
  return (
    <>
      {!harmless && (
        <label class="field">
          <span>
            {confirmation(action, lockKey) === lockKey
              ? "Type the name of the lock"
              : "Type, as the name cannot be typed"}
            : <code>{confirmation(action, lockKey)}</code>
          </span>
          <input
            data-first
            value={written.typed}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => write({ typed: event.currentTarget.value })}
          />
        </label>
      )}
      {unknownLibrary && (
        <label class="field">
          <span>
            No known library has made it, so it may not be a lock at all. If you are sure, type{" "}
            <code>unknown</code>
          </span>
          <input
            value={written.library}
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => write({ library: event.currentTarget.value })}
          />
        </label>
      )}
      <label class="field">
        <span>Reason, for the audit log</span>
        <textarea
          {...(harmless && { "data-first": true })}
          rows={2}
          maxLength={500}
          value={written.reason}
          onInput={(event) => write({ reason: event.currentTarget.value })}
        />
      </label>
    </>
  );
}
