import { redissonChannels } from "../../layout/channels.js";
import { readHoldKey, readWriteKeys } from "../../layout/keys.js";
import { writerField } from "../../layout/owners.js";
import { readWriteInspect } from "../../scripts/inspect/read-write.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import { readWriteAsk } from "../../scripts/read-write/ask.js";
import { readWriteForce } from "../../scripts/read-write/force.js";
import { readAcquire } from "../../scripts/read-write/read-acquire.js";
import { readRelease } from "../../scripts/read-write/read-release.js";
import { readRenew } from "../../scripts/read-write/read-renew.js";
import { writeAcquire } from "../../scripts/read-write/write-acquire.js";
import { writeCancel } from "../../scripts/read-write/write-cancel.js";
import { writeHeartbeat } from "../../scripts/read-write/write-heartbeat.js";
import { writeRelease } from "../../scripts/read-write/write-release.js";
import type { BatchContext } from "../requests/batches.js";
import { boundCall } from "../requests/calls.js";
import {
  type EndArgs,
  endsBy,
  type FieldsKind,
  heartbeats,
  type LockKeys,
  listensToJava,
  type PolledAnswer,
  type PolledOwner,
  passingArgs,
  queueKeys,
  renewals,
  stayKeys,
} from "./kind.js";

const heartbeat = heartbeats(writeHeartbeat);

const acquireRead = mappedScript(readAcquire, (answer): PolledAnswer => {
  if (answer.status !== "busy") return answer;
  const { serverMs, holderPttlMs, behindWriter } = answer;
  // While only a waiting writer is in front, the remaining time of the present readers says nothing.
  return { status: "busy", serverMs, againMs: behindWriter || holderPttlMs < 0 ? null : holderPttlMs };
});

const releaseRead = endsBy(readRelease, "handed", "freed", "shared");

/** The number of hand-offs in a row has a limit in any fleet: while writers hand over among themselves, no reader could enter. */
function endArgs(keys: LockKeys, context: BatchContext): EndArgs {
  return { ...passingArgs(keys, context), maxDirectRun: context.settings.maxDirectRun };
}

function readKeys({ keys, owner }: PolledOwner): readonly string[] {
  return [...keys.keys, readHoldKey(keys.key, owner)];
}

/**
 * Redisson's `RReadWriteLock`. Our writers have our queue and hand-off. Readers ask again when a message arrives, for which our
 * own readers listen to Redisson's channel. Re-entries are counted only in this process.
 */
export const readWriteLock: FieldsKind = {
  sides: ["write", "read"],
  keysOf(name) {
    const layout = readWriteKeys(name);
    return queueKeys(layout, redissonChannels.readWrite(name), { ownerPrefix: layout.holdPrefix });
  },
  queued: {
    acquire: writeAcquire,
    heartbeat: () => heartbeat,
    release: writeRelease,
    cancel: writeCancel,
    endArgs,
    stayKeys,
    fieldOf: writerField,
    // The answer names no readers. Some of them may be Java's, whose releases send messages only on Redisson's channel.
    channelFor: ({ channel }, _owner, place) =>
      listensToJava(place) || (place.position === 0 && place.holder === "") ? channel : null,
  },
  polled: {
    what: "read-write-lock",
    sharing: "readers",
    renewal: renewals(readRenew, null),
    wakes: "all",
    renewKeys: ({ keys, owner }) => [...keys.renewKeys, readHoldKey(keys.key, owner)],
    take: (asking, request, { settings: { tokenTtlMs, aliveMs } }) => {
      const { readNumber } = asking;
      return boundCall(acquireRead, readKeys(asking), { ...request, tokenTtlMs, aliveMs, readNumber });
    },
    end: (asking, context) => {
      const { keys, owner, readNumber } = asking;
      const given = { owner, ...endArgs(keys, context), holdPrefix: keys.ownerPrefix, readNumber };
      return boundCall(releaseRead, readKeys(asking), given);
    },
  },
  // Waiting readers leave no trace.
  hidesWaiters: true,
  look: readWriteInspect,
  requestRevoke: ({ key }, _context, mode) => boundCall(readWriteAsk, [key], { mode }),
  force: ({ keys, channel }, { publish }, mode) =>
    boundCall(readWriteForce, keys, { mode, expected: "", publish, channel }),
};
