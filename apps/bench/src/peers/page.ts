import { figuresMarkdown, type PeersReport } from "./report.js";

/** From this load on, other work took so much of the machine that it shows in each figure. */
const busyLoad = 1;
const busyNote = `
**Other work ran on this machine meanwhile.** Rates, latencies and processor time say little, and ratios of them are coarse: rounds
differ by several times. Requests and overtaking are not touched.
`;

/** How the peers run and wait that were measured. */
const ways: readonly (readonly [peer: string, how: string])[] = [
  ["Curator", "Curator runs with one thread for each owner."],
  ["Redisson", "Redisson runs with one thread for each owner; its clients share connections and threads."],
  ["redis-semaphore", "`redis-semaphore` does not queue: its waiters ask again each 10 ms."],
  ["redlock", "`redlock` does not queue: its waiters ask again each 200 ms."],
];

function waysOf({ samples }: PeersReport): string {
  const measured = new Set(samples.map(({ peer }) => peer));
  return ways.map(([peer, how]) => (measured.has(peer) ? `\n${how}` : "")).join("");
}

/** The text of `docs/performance.md`. */
export function pageOf(report: PeersReport): string {
  const machines = new Set(report.runs.map(({ machine }) => machine));
  const commands = report.runs.map(
    ({ command, date, commit, load }) =>
      `- \`${command}\` on ${date} at commit \`${commit}\`; load in the minute before: ${load.toFixed(2)}`,
  );
  const busy = report.runs.some(({ load }) => load > busyLoad);
  const farther = report.samples.some(({ workload }) => workload === "pair-far");
  const versions = Object.entries(report.versions)
    .map(([name, version]) => `${name} ${version}`)
    .sort((a, b) => a.localeCompare(b, "en"));
  return `# Performance

This page is written by \`bench peers\`. It shows what locks of holdfast cost beside those of other libraries, measured in turn
on one machine.

Machine: ${[...machines].join("; ")}. Clients and servers share it, over its loopback interface.

Versions: ${versions.join(", ")}.

Measured by

${commands.join("\n")}
${busy ? busyNote : ""}
## How to read it

Each peer runs in a process of its own. A workload is measured in several rounds, and in each round by all peers in turn, on the
same server. A cell shows the median of the rounds, with the smallest and the largest in parentheses. In the tables of ratios the
reference peer counts 1: each ratio is taken within a round, so that what slows a whole round down hardly shows in it.

- _a second_: pairs of acquire and release; where owners wait for each other, grants, whichever owner had the lock before.
- _hand-offs a second_: grants that went to another owner than the one before. A lock that its last owner takes again past those
  that wait is granted, but not handed over.
- _p50_ and _p99_: of a pair, from the call of acquire until release is done; where owners wait, of a hand-off, from the call of
  release until another owner has the lock.
- _CPU s per 1,000_: processor time of the client's process, garbage collection and compiler included, and of the server, for
  1,000 pairs or grants.
- _requests each_: packets that ZooKeeper received, keep-alives included; commands that Redis ran, those inside scripts included.
- _passed by_: how many owners that called later were granted earlier, on average for each grant, and at most.
- _targets_: what holdfast must reach, and what it aims for, on a machine that does nothing else. The median decides.
- _shortest_: the shortest exchange that excludes others, without any guarantee: create and list in one write and delete, or
  \`SET NX\` and \`DEL\`; where owners wait, the deletion of the node ahead, or \`BLPOP\` and \`LPUSH\`. It is a floor and not a lock: it loses
  locks, or never gives them back, when a connection or a process dies.

ZooKeeper is one server that waits for the disk at each write; Redis is one server without persistence.${waysOf(report)}

## What not to conclude

- Absolute figures do not carry over. On another machine, with servers of their own and a network between, the way to the server
  is most of the time${farther ? ": `pair-far` shows how little of the difference is left over 10 ms" : ""}.
- Ratios of less than about a tenth are within what rounds differ by. Where smallest and largest lie on both sides of 1, the table
  says that there is no difference that this machine can show.
- Where owners wait for each other, grants a second of peers without a queue say nothing: a lock that goes back to its last owner
  needs no hand-off. Compare hand-offs a second, and _passed by_, which counts those who waited meanwhile.
- More requests are not slower by themselves, and fewer do not make a lock safe: what holdfast's requests buy is in
  [one acquire](one-acquire.md).
- An ensemble, replicas, TLS, failures and long holds are not measured here.

${figuresMarkdown(report)}
`;
}
