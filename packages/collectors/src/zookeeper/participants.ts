import type { Recognised } from "@holdfast/core";
import { formatSessionId } from "@holdfast/zk-protocol";
import { mayBeKept, readIdentity, type TreeNode, type TreeParticipant } from "@holdfast/zk-recipes/internal";
import { unknownMoment } from "../kit/moment.js";
import { participant } from "../kit/participant.js";
import type { LeaseState, Moment, ObservedLibrary, ObservedParticipant } from "../observe/observed-lock.js";
import { shownText } from "./shown-text.js";

/** `position`: `null` for a holder; its `since` is then the start of its hold. */
export function participantOf(
  person: TreeParticipant,
  node: TreeNode | undefined,
  position: number | null,
  heldSince: Moment | null,
): ObservedParticipant {
  const session = person.session === null || person.session === 0n ? null : formatSessionId(person.session);
  const data = node?.stat == null ? null : node.data;
  return participant({
    entry: person.name,
    actor: session,
    session,
    identity: data === null ? null : (readIdentity(data) ?? labelled(person.label)),
    mayBeKept: position === null && mayBeKept(person.name),
    address: person.address,
    data: data === null ? null : shownText(data),
    mode: person.mode,
    position,
    since: position === null ? (heldSince ?? unknownMoment) : waitsSince(person.sinceMs),
    lease: leaseOf(person.session),
    token: person.token === null ? null : tokenText(person.token),
    library: libraryOf(person.recognisedAs),
  });
}

/**
 * A node of Curator cannot be distinguished from a node of holdfast without `identity`. While the nodes are not read, those
 * of the two libraries cannot be distinguished at all.
 */
export function libraryOf(recognisedAs: Recognised): ObservedLibrary {
  return recognisedAs === "curator" ? "curator-or-holdfast" : recognisedAs;
}

/** Whether `text` is part of any word by which the participant is shown. */
export function isToldBy(one: ObservedParticipant, text: string): boolean {
  const { actor, session, address, data, entry, identity } = one;
  return [actor, session, address, data, entry, identity?.label, identity?.host].some(
    (word) => word?.includes(text) === true,
  );
}

export function tokenText(czxid: bigint): string {
  return `0x${BigInt.asUintN(64, czxid).toString(16)}`;
}

function labelled(label: string | null): ObservedParticipant["identity"] {
  return label === null ? null : { label, host: null, pid: null };
}

/** When a waiter began to wait: when its node was made, by the server's clock. */
function waitsSince(sinceMs: number | null): Moment {
  return sinceMs === null ? unknownMoment : { atMs: sinceMs, provenance: "exact" };
}

/** A node that is not ephemeral stays when its maker is gone. */
function leaseOf(session: bigint | null): LeaseState {
  if (session === null) return "unknown";
  return session === 0n ? "never-expires" : "session";
}
