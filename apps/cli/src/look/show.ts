import type { Finding, ObservedLockDetail, ObservedParticipant, SessionContact } from "@holdfast/collectors";
import { shownName, span, visible, whoIs } from "@holdfast/collectors/internal";
import type { Command } from "../command.js";
import { jsonOfLock, jsonOfParticipant, printJson } from "./json.js";
import { lookingAt } from "./looking.js";
import { findingsByObject } from "./reading.js";
import { type Column, table, widthOf } from "./table.js";
import {
  aboutWaiters,
  ageOf,
  ageText,
  bornMs,
  findingOf,
  kindOf,
  leaseWords,
  libraryNames,
  many,
  stateOf,
} from "./words.js";

const contactsMs = 2_000;

export const show: Command = {
  name: "show",
  summary: "shows one lock: its holders, its queue, and where it lies",
  usage: `Usage: holdfast show NAME [--json]

Shows who holds the lock, who waits in which order, tokens, leases or sessions, what is wrong with what to do, and the
nodes or keys of the backend. NAME is the name as a program gives it to holdfast, or as ls prints it.

  --json   one document with the same`,
  options: {},
  run: (given, io) =>
    lookingAt(given, io, async ({ collector, beganMs }, lock) => {
      const findings = findingsByObject(collector).get(lock.key) ?? [];
      const ids = new Set(lock.holders.flatMap(({ session }) => (session === null ? [] : [session])));
      const contacts = await withinMs(collector.contacts([...ids]), contactsMs).catch(() => []);
      if (given.values.json === true) {
        printJson(io, {
          backend: collector.backend,
          ...jsonOfLock(lock, findings),
          waiters: lock.waiters.map(jsonOfParticipant),
          contacts: contacts.map(({ id, state, endsMs }) => ({ session: id, state, endsMs })),
          raw: lock.raw.map(({ name, value }) => ({ name, value })),
          explain: [...lock.explain],
        });
        return 0;
      }
      io.out(`${pageOf(lock, { findings, contacts, beganMs, width: widthOf(io) })}\n`);
      return 0;
    }),
};

interface Beside {
  readonly findings: readonly Finding[];
  readonly contacts: readonly SessionContact[];
  readonly beganMs: number;
  readonly width: number;
}

/** The page about one lock, for a terminal. */
function pageOf(lock: ObservedLockDetail, beside: Beside): string {
  const libraries = lock.libraries.map((each) => libraryNames[each]).join(", ");
  const parts = [
    [
      `lock     ${shownName(lock.key)}`,
      `kind     ${kindOf(lock)}${libraries === "" ? "" : `, of ${libraries}`}`,
      `state    ${stateOf(lock)}${lock.denied === null ? "" : `: ${visible(lock.denied)}`}`,
      ...(lock.limit === null ? [] : [`permits  ${lock.limit}`]),
      ...(lock.token === null ? [] : [`token    ${visible(lock.token)}`]),
    ].join("\n"),
    holdersPart(lock, beside),
    queuePart(lock, beside),
    ...beside.findings.map(
      (each) =>
        `${each.severity}: ${findingOf(each)}\n  ${visible(each.evidence)}\n  what to do: ${visible(each.advice)}`,
    ),
    `at the backend\n${lock.raw.map(({ name, value }) => `  ${shownName(name)}  ${visible(value)}`).join("\n")}`,
  ];
  return parts.filter((each) => each !== null).join("\n\n");
}

function holdersPart(lock: ObservedLockDetail, { contacts, beganMs }: Beside): string {
  if (lock.holders.length === 0) return whyNoHolders(lock);
  const left = lock.holderCount - lock.holders.length;
  const held = lock.holders.map((one) => {
    const contact = contacts.find(({ id }) => id === one.session);
    const lines = [
      `held by  ${whoIs(one)}`,
      `  for      ${ageText(ageOf(one.since, lock.readMs, beganMs, bornMs(lock, one)))}`,
      `  lives    ${leaseText(one)}`,
      ...(one.session === null
        ? []
        : [`  session  ${visible(one.session)}${contactText(contact, lock.readMs)}`]),
      ...(one.token === null ? [] : [`  token    ${visible(one.token)}`]),
      ...(one.mode === "shared" && lock.kind === "read-write-lock" ? ["  mode     shared"] : []),
      ...(one.permits === 1 ? [] : [`  permits  ${one.permits}`]),
      ...((one.holdCount ?? 1) === 1 ? [] : [`  entered  ${one.holdCount} times`]),
      ...(one.mayBeKept ? ["  kept     perhaps: its client may keep the lock for its next owner"] : []),
      `  library  ${libraryNames[one.library]}`,
      `  entry    ${visible(one.entry)}`,
    ];
    return lines.join("\n");
  });
  return [...held, ...(left > 0 ? [`and ${left} more`] : [])].join("\n");
}

function whyNoHolders({ denied, state, raw, kind }: ObservedLockDetail): string {
  if (denied !== null) return "held by  not readable";
  const free = raw.find(({ name }) => name === "permits free")?.value;
  if (kind === "semaphore" && free !== undefined)
    return `held by  not known: ${free} ${free === "1" ? "permit is" : "permits are"} free, and who has taken others is not in the backend`;
  return state === "held" ? "held by  not known" : "held by  none";
}

function leaseText({ lease, remainingMs }: ObservedParticipant): string {
  if (remainingMs === null) return leaseWords[lease];
  const left = `${span(remainingMs)} left`;
  return lease === "unknown"
    ? `a lease, ${left}; whether it is renewed is not seen at once`
    : `${leaseWords[lease]}; ${left}`;
}

function contactText(contact: SessionContact | undefined, nowMs: number): string {
  if (contact === undefined || contact.state === "unknown") return "";
  if (contact.state === "connected") return ", connected";
  return `, connection lost${contact.endsMs === null ? "" : `: it ends within ${span(contact.endsMs - nowMs)}`}`;
}

function queuePart(lock: ObservedLockDetail, { beganMs, width }: Beside): string {
  const why = aboutWaiters(lock);
  if (lock.waiters.length === 0) {
    if (why !== null) return `waiters  ${lock.waiterUnit === "hidden" ? "hidden" : lock.waiterCount}: ${why}`;
    return lock.waiterCount === 0 ? "waiters  none" : `waiters  ${lock.waiterCount}, who could not be read`;
  }
  const columns: readonly Column<ObservedParticipant>[] = [
    { title: "#", text: ({ position }) => (position === null ? "-" : String(position + 1)), right: true },
    { title: "WHO", text: whoIs, least: 12 },
    { title: "WAITING", text: (one) => ageText(ageOf(one.since, lock.readMs, beganMs)), right: true },
    {
      title: "GIVES UP",
      text: ({ deadlineMs }) => (deadlineMs === null ? "unknown" : `in ${span(deadlineMs - lock.readMs)}`),
      leaveOut: 2,
    },
    {
      title: "MODE",
      text: ({ mode, permits }) => (permits === 1 ? mode : `${mode} x ${permits}`),
      leaveOut: 3,
    },
    { title: "LIBRARY", text: ({ library }) => libraryNames[library], leaveOut: 4 },
    { title: "ENTRY", text: ({ entry }) => visible(entry), least: 12, middle: true, leaveOut: 1 },
  ];
  const left = lock.waiterCount - lock.waiters.length;
  const more = lock.waiterUnit === "participants" && left > 0 ? [`and ${left} more`] : [];
  const heading = `waiters  ${many(lock.waiters.length + (more.length > 0 ? left : 0), "in the queue", "in the queue")}, next first`;
  return [heading, table(columns, lock.waiters, width), ...more, ...(why === null ? [] : [why])].join("\n");
}

function withinMs<T>(work: Promise<T>, ms: number): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms).unref(),
    ),
  ]);
}
