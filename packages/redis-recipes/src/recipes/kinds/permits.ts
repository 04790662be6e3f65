import { type RedissonPublish, redissonChannels } from "../../layout/channels.js";
import { permitKeyList, permitKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import { permitRelease } from "../../scripts/permit/release.js";
import { permitRenew } from "../../scripts/permit/renew.js";
import { permitTake } from "../../scripts/permit/take.js";
import { type BoundCall, boundCall } from "../requests/calls.js";
import {
  type LockKeys,
  lockKeys,
  type PolledAnswer,
  type PolledEnd,
  type PolledScripts,
  type RedisKind,
  renewalLimit,
} from "./kind.js";
import { revokePermits } from "./semaphore.js";

const otherLimit =
  "; give that limit, or change it for all with setLimit(); a number that Redisson's RSemaphore keeps is for plainSemaphore()";

const take = mappedScript(permitTake, (answer): PolledAnswer => {
  const { status, serverMs } = answer;
  if (status === "unset") {
    return { status: "busy", serverMs, againMs: null, missing: "it has no limit yet: call setLimit()" };
  }
  if (status === "beyond") {
    const missing = `more are asked for than its limit of ${answer.limit}: call setLimit()`;
    return { status: "busy", serverMs, againMs: null, missing };
  }
  if (status === "busy") {
    return { status, serverMs, againMs: answer.leaseLeftMs < 0 ? null : answer.leaseLeftMs };
  }
  if (status === "limit") {
    return { status: "conflict", serverMs, found: `a limit of ${answer.limit}`, advice: otherLimit };
  }
  return answer;
});

const release = mappedScript(permitRelease, (answer): PolledEnd => {
  const { serverMs } = answer;
  if (answer.status !== "released") return { serverMs, ended: false };
  // A late permit was still counted as taken, but its hold had ended before this release.
  return { serverMs, ended: answer.late === 0, permits: answer.inTime };
});

/** Gives permits back, whichever process took them. */
export function releasePermits(
  { keys, channel }: LockKeys,
  ids: readonly string[],
  publish: RedissonPublish,
): BoundCall<PolledEnd> {
  return boundCall(release, keys, { publish, channel, ids });
}

/** Permits that were taken together are one field: their ids, side by side. */
const separator = ",";
const idLength = 32 + separator.length;

/**
 * Redisson's `RPermitExpirableSemaphore`: each permit has an id and a lease, by the server's clock. Ours are renewed. While no
 * limit is set, nothing is granted until a client sets one.
 */
export const permitSemaphore: RedisKind & { readonly polled: PolledScripts } = {
  keysOf(name) {
    const keys = permitKeyList(permitKeys(name));
    const channel = redissonChannels.semaphore(name);
    return lockKeys({ key: name, keys, channel }, { renewKeys: keys });
  },
  polled: {
    what: "permit-semaphore",
    sharing: "any",
    renewal: {
      script: permitRenew,
      args(entries) {
        const batches = entries.map(({ field, leaseMs }) => ({ ids: field.split(separator), leaseMs }));
        return permitRenew.args(null, batches);
      },
      limit: renewalLimit,
      weightOf: ({ field }) => Math.ceil(field.length / idLength),
    },
    wakes: "counted",
    askedByChannel: true,
    // On the wire the permit ids name a hold; there is no owner.
    permitIds: (_owner, permits, runtime) =>
      Array.from({ length: permits }, () => runtime.randomId().replaceAll("-", "").toLowerCase()),
    fieldOf: ({ permitIds }) => permitIds.join(separator),
    take: (
      { keys: { keys, channel }, permitIds: ids, limit },
      request,
      { settings: { tokenTtlMs }, publish },
    ) => boundCall(take, keys, { ...request, publish, channel, ids, limit, tokenTtlMs }),
    end: ({ keys, permitIds }, { publish }) => releasePermits(keys, permitIds, publish),
  },
  hidesWaiters: true,
  requestRevoke: revokePermits,
};
