import { redissonChannels } from "../../layout/channels.js";
import { readHoldKeyList, readWriteKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import { readAcquire } from "../../scripts/read-write/read-acquire.js";
import { readRelease } from "../../scripts/read-write/read-release.js";
import { readRenew } from "../../scripts/read-write/read-renew.js";
import { renewalLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { PolledAnswer, PolledEnd, PolledLock } from "../polled-lock.js";
import { cappedSleepMs } from "../wake-rooms.js";
import { endArgsOf } from "./write-lock.js";

const acquire = mappedScript(readAcquire, (answer): PolledAnswer => {
  if (answer.status !== "busy") return answer;
  const { serverMs, holderPttlMs, behindWriter } = answer;
  // Behind a writer that only waits, the time of the present readers says nothing.
  return { status: "busy", serverMs, againMs: behindWriter || holderPttlMs < 0 ? null : holderPttlMs };
});

const release = mappedScript(
  readRelease,
  ({ status, serverMs }): PolledEnd => ({ serverMs, ended: status !== "gone" }),
);

export function readRenewals(): BatchKind<RenewEntry, RenewAnswer> {
  return {
    script: readRenew,
    args: (entries) =>
      readRenew.args(
        null,
        entries.map(({ field, leaseMs }) => ({ owner: field, leaseMs })),
      ),
    limit: renewalLimit,
  };
}

/**
 * The read side of Redisson's `RReadWriteLock`. `owner`: fresh, or that of a write that is held, as Redisson's layout asks of a read
 * beside it; the write is given up by its own release, which tells waiting readers.
 */
export function readLock(
  desk: RedisDesk,
  renewal: BatchKind<RenewEntry, RenewAnswer>,
  name: string,
  key: string,
  owner: string,
): PolledLock {
  const keys = readHoldKeyList(key, owner);
  const [lock, token, , , , hold] = keys as [string, string, string, string, string, string];
  const { holdPrefix } = readWriteKeys(key);
  const { tokenTtlMs } = desk.settings;
  return {
    name,
    key,
    what: "read-write-lock",
    owner,
    field: owner,
    permitIds: [],
    sharing: "readers",
    renewal,
    renewKeys: [lock, token, hold],
    tryOnce: (standing) => ({
      script: acquire,
      keys,
      args: readAcquire.args({ ...standing, tokenTtlMs }),
    }),
    end: () => ({
      script: release,
      keys,
      args: readRelease.args({ owner, ...endArgsOf(desk, key), holdPrefix }),
    }),
    channel: { name: redissonChannels.readWrite(key), rule: "all" },
    sleepMs: () => cappedSleepMs(desk.runtime),
  };
}
