import type { FindingRow, LockDetail, LockRow, Participant } from "../../../src/contract/api.js";
import { hostile } from "./participants.js";

export function detailOf(row: LockRow, waiters: Participant[], findings: readonly FindingRow[]): LockDetail {
  const [holder] = row.holders;
  const name = holder?.library === "curator" ? "Curator" : holder?.library;
  const who = holder?.identity?.label ?? holder?.address ?? holder?.entry;
  return {
    nowMs: Date.now(),
    lock: row,
    waiters,
    fromMemory: false,
    contacts: [],
    raw: [
      { name: row.backend === "zookeeper" ? "path" : "key", value: row.key },
      { name: "stat", value: "czxid=0x500004e21 mzxid=0x500004e21 cversion=1626 children=62" },
      { name: "data", value: `${holder?.data ?? ""}\n${hostile}` },
    ],
    explain: [
      "Holder: the child with the lowest sequence number.",
      "Held for: from the moment at which the collector saw its predecessor go.",
    ],
    findings: findings.filter(({ lockId }) => lockId === row.id),
    actions: [
      {
        action: "request-revoke",
        entry: holder?.entry ?? null,
        role: "operator",
        unknownLibrary: false,
        effects: [
          `Holder ${who} (${name}) is asked to release; it hears only if its program made the lock revocable.`,
        ],
      },
      {
        action: "force-release",
        entry: holder?.entry ?? null,
        role: "admin",
        unknownLibrary: false,
        effects: [
          `Holder ${who} (${name}) is NOT notified: it goes on as if it held the lock.`,
          "The next waiter is granted the lock within a second. Until the old holder stops, there are two.",
          "Writes that check the fencing token refuse the old holder.",
        ],
      },
      ...waiters.slice(0, 20).map(({ entry }) => ({
        action: "evict-waiter",
        entry,
        role: "admin",
        unknownLibrary: false,
        effects: [
          "The waiter's node is deleted. A Curator client makes a new one at the tail and still acquires later.",
        ],
      })),
    ],
  };
}
