import { shownName } from "@holdfast/collectors/internal";
import { mostOffered } from "../../../src/contract/actions.js";
import type { ActionAnswer, ActionBody, LockDetail } from "../../../src/contract/api.js";

export type ActionName = ActionBody["action"];

export const actionNames: Record<
  ActionName,
  { button: string; title: string; verb: string; harmless: boolean }
> = {
  "request-revoke": {
    button: "Ask to release…",
    title: "Ask the holder to release",
    verb: "Send the request",
    harmless: true,
  },
  "evict-waiter": { button: "Evict…", title: "Evict a waiter", verb: "Evict the waiter", harmless: false },
  "force-release": {
    button: "Force release…",
    title: "Force the release",
    verb: "Release by force",
    harmless: false,
  },
  "clean-orphan": {
    button: "Clean up…",
    title: "Clean up what is left over",
    verb: "Delete what is left over",
    harmless: false,
  },
};

export function asAction(name: string): ActionName | null {
  return Object.hasOwn(actionNames, name) ? (name as ActionName) : null;
}

/**
 * The sentence that some holders or waiters of a lock are offered no action because they come too late; `null` if none
 * is left out.
 */
export function offersEnd({
  lock,
  waiters,
  actions,
}: Pick<LockDetail, "lock" | "waiters" | "actions">): string | null {
  const offered = new Set(actions.map(({ entry }) => entry));
  const leftOut = [lock.holders, waiters].some(
    (all) => all.length > mostOffered && all.some(({ entry }) => offered.has(entry)),
  );
  return leftOut
    ? `Actions are offered for the first ${mostOffered} holders and the first ${mostOffered} waiters.`
    : null;
}

/** The outcome, in words for the user who asked for the action. */
export function outcomeOf(answer: Pick<ActionAnswer, "outcome">): {
  text: string;
  tone: "good" | "warn" | "info";
} {
  switch (answer.outcome) {
    case "done":
      return { text: "Done.", tone: "good" };
    case "would-do":
      return { text: "Dry run: nothing was done. This is what would happen:", tone: "info" };
    case "conflict":
      return { text: "Nothing was done: the lock is not what it was when you looked.", tone: "warn" };
    case "nothing-there":
      return { text: "Nothing was done: it is no longer there.", tone: "warn" };
    case "unsupported":
      return { text: "Nothing was done: this is not possible here.", tone: "warn" };
    default:
      return { text: `The server says: ${answer.outcome}.`, tone: "warn" };
  }
}

/**
 * What has to be typed before an action is forced: the name of the lock. A name with a line break, or with another
 * character that cannot be typed, is confirmed by words instead.
 */
export function confirmation(action: ActionName, key: string): string {
  if (shownName(key) === key) return key;
  return action === "evict-waiter" ? "evict waiter" : action === "clean-orphan" ? "clean up" : "release lock";
}

/** Whether the user has typed that, or the name as it is shown. */
function isConfirmed(action: ActionName, key: string, typed: string): boolean {
  return [key, shownName(key), confirmation(action, key)].includes(typed);
}

/** Why the button cannot be pressed yet; `null` if it can. */
export function hindrance(asked: {
  readonly action: ActionName;
  readonly key: string;
  readonly typed: string;
  /** Whether no known library has made what the action is about. `library` is what was typed to confirm it. */
  readonly unknownLibrary: boolean;
  readonly library: string;
  readonly reason: string;
  /** The time since the dialog was opened, or since the lock changed in it. */
  readonly openMs: number;
  /** The age of what is shown; `null` if nothing is shown. */
  readonly readAgoMs: number | null;
}): string | null {
  if (asked.readAgoMs === null) return "Reading the lock.";
  if (asked.readAgoMs > 10_000) return "What is shown is older than 10 s.";
  if (asked.reason.trim().length < 3) return "A reason is required, for the audit log.";
  if (!actionNames[asked.action].harmless && !isConfirmed(asked.action, asked.key, asked.typed))
    return "The confirmation is not typed yet, or differs.";
  if (asked.unknownLibrary && asked.library !== "unknown")
    return "Made by no known library: the word unknown is not typed yet.";
  if (asked.openMs < 2000) return "Read what it does first: the button is on after 2 s.";
  return null;
}
