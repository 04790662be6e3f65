import type { LeaderElection, LeadershipHandle, Participant } from "@holdfast/core";
import { expect } from "vitest";
import type { Harness } from "./harness.js";

/** Waits until at least `count` candidates stand, the leader included, as the backend sees it. */
export function untilStanding(h: Harness, election: LeaderElection, count: number): Promise<void> {
  return h.until(`${count} to stand in ${election.name}`, async () => {
    return (await election.participants()).length >= count;
  });
}

/** Waits until the participants have these labels, as every client sees them; the first of them leads. */
export async function untilLabels(h: Harness, election: LeaderElection, labels: string[]): Promise<void> {
  let seen: readonly Participant[] = [];
  await h.until(`${labels.join(", ") || "nobody"} to stand in ${election.name}`, async () => {
    seen = await election.participants();
    // A participant without a label, whose entry is about to be deleted, still counts.
    return seen.length === labels.length && seen.every(({ label }, at) => label === labels[at]);
  });
  expect(seen.map((each) => each.leader)).toEqual(labels.map((_, i) => i === 0));
}

export function untilLeader(h: Harness, election: LeaderElection, label: string): Promise<void> {
  return h.until(`${label} to lead ${election.name}`, async () => (await election.leader())?.label === label);
}

export async function depose(h: Harness, term: LeadershipHandle): Promise<void> {
  const { lost } = term;
  await h.fixture.loseHold(term);
  await h.untilAborted("the leader to hear of its deposition", lost);
}

/** Reads on until the leader has this label. Returns everything that it read. */
export async function readUntil(
  h: Harness,
  observed: AsyncIterator<Participant | null>,
  label: string | undefined,
): Promise<(Participant | null)[]> {
  const read: (Participant | null)[] = [];
  for (;;) {
    const next = await withLimit(h, `the observer to see ${label ?? "nobody"}`, observed.next());
    if (next.done === true) throw new Error(`the observation ended before ${label ?? "nobody"} was seen`);
    read.push(next.value);
    if (next.value?.label === label) return read;
  }
}

export async function withLimit<T>(h: Harness, what: string, promise: Promise<T>): Promise<T> {
  let settled = false;
  const done = () => {
    settled = true;
  };
  promise.then(done, done);
  await h.until(what, () => settled);
  return await promise;
}
