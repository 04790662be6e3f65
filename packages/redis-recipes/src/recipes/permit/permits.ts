import { redissonChannels } from "../../layout/channels.js";
import { permitKeyList, permitKeys } from "../../layout/keys.js";
import { mappedScript } from "../../scripts/mapped-script.js";
import type { RenewAnswer, RenewEntry } from "../../scripts/mutex/renew.js";
import { permitRelease } from "../../scripts/permit/release.js";
import { permitRenew } from "../../scripts/permit/renew.js";
import { permitTake } from "../../scripts/permit/take.js";
import { renewalLimit } from "../batch-kinds.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { PolledAnswer, PolledEnd, PolledLock } from "../polled-lock.js";
import { publishAlways } from "../publish-how.js";
import type { PermitWishes } from "../semaphore/permit-wishes.js";
import { cappedSleepMs } from "../wake-rooms.js";

const otherLimit =
  "; give that limit, or change it for all with setLimit(); a number that Redisson's RSemaphore keeps is for plainSemaphore()";

const take = mappedScript(permitTake, (answer): PolledAnswer => {
  const { status, serverMs } = answer;
  if (status === "unset") {
    return { status: "busy", serverMs, againMs: null, missing: "it has no limit yet: call setLimit()" };
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
  // A permit that was over may have been somebody else's meanwhile.
  return { serverMs, ended: answer.late === 0, permits: answer.inTime };
});

/** A batch of permits is one field: its ids, side by side. */
const separator = ",";
const idLength = 32 + separator.length;

export function permitRenewals(): BatchKind<RenewEntry, RenewAnswer> {
  return {
    script: permitRenew,
    args: (entries) =>
      permitRenew.args(
        null,
        entries.map(({ field, leaseMs }) => ({ ids: field.split(separator), leaseMs })),
      ),
    limit: renewalLimit,
    weightOf: ({ field }) => Math.ceil(field.length / idLength),
  };
}

/**
 * Redisson's `RPermitExpirableSemaphore`: each permit has an id and a lease, by the server's clock. Ours are renewed. `limit`: how many there
 * have to be in all; `null` takes it as it is, and where none is set nothing is granted until somebody sets one.
 */
export function permitTakes(
  desk: RedisDesk,
  renewal: BatchKind<RenewEntry, RenewAnswer>,
  name: string,
  key: string,
  { permits, limit }: { readonly permits: number; readonly limit: number | null },
  wishes: PermitWishes,
): PolledLock {
  const keys = permitKeyList(permitKeys(key));
  const channel = redissonChannels.semaphore(key);
  const ids = Array.from({ length: permits }, () =>
    desk.runtime.randomId().replaceAll("-", "").toLowerCase(),
  );
  const told = { publish: publishAlways(desk), channel };
  return {
    name,
    key,
    what: "permit-semaphore",
    // Not on the wire: the ids are.
    owner: desk.freshOwner(),
    field: ids.join(separator),
    permitIds: ids,
    sharing: "any",
    renewal,
    renewKeys: keys,
    tryOnce: (standing) => ({
      script: take,
      keys,
      args: permitTake.args({
        ...told,
        ids,
        limit,
        leaseMs: standing.leaseMs,
        notAfterMs: standing.notAfterMs,
        floor: standing.floor,
        tokenTtlMs: desk.settings.tokenTtlMs,
      }),
    }),
    end: () => ({ script: release, keys, args: permitRelease.args({ ...told, ids }) }),
    channel: { name: channel, rule: "counted" },
    wishes,
    sleepMs: () => cappedSleepMs(desk.runtime),
  };
}
