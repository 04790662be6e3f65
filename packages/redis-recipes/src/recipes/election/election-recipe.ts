import { BackendError, LockLostError, type Millis } from "@holdfast/core";
import { ourChannels } from "../../layout/channels.js";
import { electionKeys, mutexKeyList } from "../../layout/keys.js";
import { electionLabel } from "../../scripts/election/label.js";
import { mutexInspect } from "../../scripts/inspect/mutex.js";
import type { StandAnswer } from "../../scripts/mutex/answers.js";
import { mutexAsk } from "../../scripts/mutex/ask.js";
import { mutexForce } from "../../scripts/mutex/force.js";
import type { HeartbeatEntry } from "../../scripts/mutex/heartbeat.js";
import type { BatchKind } from "../batches.js";
import type { RedisDesk } from "../desk.js";
import type { ExclusiveLock } from "../exclusive-lock.js";
import { defaultMaxPending, lockSnapshot } from "../inspect-mutex.js";
import { QueuedAttempt } from "../queued-attempt.js";
import type { Recipe } from "../recipe.js";
import type { RedisGrant } from "../redis-grant.js";
import { watchChannel } from "../watch-channel.js";
import { electionHeartbeat, electionLock } from "./election.js";

const kind = "leader-election";

/** How long labels stay after the last of them was set. A term without a change for longer is shown without its label. */
const labelsTtlMs = 30 * 24 * 60 * 60 * 1_000;
/** A label that the server refuses for the moment is set again for so long; its leader hears of the grant after that. */
const labelWaitMs: Millis = 1_000;
/** Elections whose heartbeats go together; more than that are asked for on their own. */
const mostHeartbeats = 1_000;

/**
 * Leadership on keys of our own, since Redisson has no election: the mutex at `holdfast_election:{name}`, and `holdfast_labels:{name}`, what
 * each that leads or stands says of itself.
 */
export function electionRecipe(desk: RedisDesk): Recipe {
  const heartbeats = new Map<string, BatchKind<HeartbeatEntry, StandAnswer>>();

  const heartbeatOf = (key: string): BatchKind<HeartbeatEntry, StandAnswer> => {
    const known = heartbeats.get(key);
    if (known !== undefined) return known;
    const made = electionHeartbeat(desk, key);
    if (heartbeats.size >= mostHeartbeats) heartbeats.delete(heartbeats.keys().next().value as string);
    heartbeats.set(key, made);
    return made;
  };

  /** `false` when that owner neither leads nor stands. */
  const say = async (key: string, owner: string, leaseMs: number, label: string): Promise<boolean> => {
    const { lock, waiters, labels } = electionKeys(key);
    const changes = ourChannels.election(key);
    const args = electionLabel.args({ owner, leaseMs, label, ttlMs: labelsTtlMs, changes });
    const call = { script: electionLabel, keys: [lock, waiters, labels], args };
    const { reply } = await desk.runUntilAnswered(call, desk.runtime.nowMs() + labelWaitMs);
    if (reply === null) {
      throw new BackendError(`Redis has not confirmed the label within ${labelWaitMs} ms`, {
        backend: "redis",
      });
    }
    return reply.status === "labelled";
  };

  return {
    attempt(request, key, listener) {
      const label = (owner: string, leaseMs: number, text: string): Promise<boolean> =>
        say(key, owner, leaseMs, text);
      const lock = { ...electionLock(desk, heartbeatOf(key), request.name, key), label };
      return new QueuedAttempt(desk, [{ lock, request }], listener);
    },
    async announce(grant, label) {
      const { lock, owner, leaseMs, found } = (grant as RedisGrant).spec;
      if (await (lock as ExclusiveLock).label?.(owner, Math.floor(leaseMs), label)) return;
      throw new LockLostError(`the leadership of "${lock.name}" was gone when a label was announced`, {
        reason: "lease-missing",
        token: found.token,
        lockName: lock.name,
        backend: "redis",
      });
    },
    watch: (key, changed) =>
      watchChannel(desk.rooms, desk.runtime, { name: ourChannels.election(key), kind: "plain" }, changed),
    async inspect(name, key, options) {
      options.signal?.throwIfAborted();
      const { lock, token, waiters, alive, labels } = electionKeys(key);
      const { reply } = await desk.run({
        script: mutexInspect,
        keys: [lock, token, waiters, alive, labels],
        args: mutexInspect.args({ maxPending: options.maxPending ?? defaultMaxPending }),
      });
      return lockSnapshot(desk, kind, name, reply);
    },
    async requestRevoke(_name, key) {
      const { lock } = electionKeys(key);
      const { reply } = await desk.run({ script: mutexAsk, keys: [lock], args: mutexAsk.args(null) });
      return reply.status === "asked";
    },
    async force(_name, key) {
      const args = mutexForce.args({
        expected: "",
        publish: "none",
        channel: "",
        changes: ourChannels.election(key),
      });
      const { reply } = await desk.run({ script: mutexForce, keys: mutexKeyList(electionKeys(key)), args });
      return reply.status === "forced";
    },
  };
}
