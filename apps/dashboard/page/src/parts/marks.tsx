import type { JSX } from "preact";
import type { ClusterRow, FindingRow, LockRow, Participant } from "../../../src/contract/api.js";
import { now } from "../app/store.js";
import { leaseLeft } from "../format/contact.js";
import { leaseWords, plain } from "../format/words.js";
import { Icon, type IconName } from "./icon.js";

/** A state as a picture and a word; its colour says it a third time. */
export function Mark({ icon, tone, text }: { icon: IconName; tone: string; text: string }): JSX.Element {
  return (
    <span class={`mark ${tone}`}>
      <Icon name={icon} />
      {text}
    </span>
  );
}

const lockTones = { held: "good", contended: "warn", idle: "quiet" } as const;
export const LockState = ({ state }: { state: LockRow["state"] }): JSX.Element => (
  <Mark icon={state} tone={lockTones[state]} text={state} />
);

const severityTones = { info: "info", warning: "warn", critical: "bad" } as const;
export const Severity = ({ severity }: { severity: FindingRow["severity"] }): JSX.Element => (
  <Mark icon={severity} tone={severityTones[severity]} text={severity} />
);

const sources: Record<string, { icon: IconName; tone: string }> = {
  starting: { icon: "syncing", tone: "info" },
  syncing: { icon: "syncing", tone: "info" },
  ok: { icon: "ok", tone: "good" },
  stale: { icon: "stale", tone: "warn" },
  down: { icon: "down", tone: "bad" },
  denied: { icon: "denied", tone: "bad" },
  "too-big": { icon: "warning", tone: "warn" },
  off: { icon: "idle", tone: "quiet" },
};
/** The state of a cluster or of one of its sources. */
export const SourceState = ({ state }: { state: ClusterRow["state"] | (string & {}) }): JSX.Element => (
  <Mark {...(sources[state] ?? { icon: "info", tone: "info" })} text={plain(state)} />
);

/** The lease of a holder of `lock`. `stale`: how long it lasts is not known now. */
export function Lease({
  participant,
  lock,
  stale,
}: {
  participant: Pick<Participant, "lease" | "remainingMs">;
  lock: Pick<LockRow, "readMs">;
  stale: boolean;
}): JSX.Element {
  const { text, why, bad } = leaseWords[participant.lease];
  const left = stale ? null : leaseLeft(participant, lock, now.value);
  return (
    <span class={bad ? "mark bad" : "plain"} title={why}>
      {bad && <Icon name="warning" />}
      {text}
      {left !== null && <span class="note"> {left}</span>}
    </span>
  );
}
