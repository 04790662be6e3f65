import { ourChannels, redissonChannels } from "../../layout/channels.js";
import { electionKeys } from "../../layout/keys.js";
import { mutexForce } from "../../scripts/mutex/force.js";
import { mutexHeartbeat } from "../../scripts/mutex/heartbeat.js";
import { boundCall } from "../requests/calls.js";
import { type FieldsKind, heartbeats, passingArgs, queueKeys } from "./kind.js";
import { mutex } from "./mutex.js";

/**
 * Leadership on keys of our own, since Redisson has no election. It is a mutex at `holdfast_election:{name}` whose changes are
 * published on a channel of their own. `holdfast_labels:{name}` holds the label of each candidate and of the leader.
 */
export const election: FieldsKind = {
  ...mutex,
  keysOf(name) {
    const layout = electionKeys(name);
    const { lock, token, waiters, alive, labels } = layout;
    const lookKeys = [lock, token, waiters, alive, labels];
    return queueKeys(layout, redissonChannels.mutex(lock), { lookKeys, changes: ourChannels.election(name) });
  },
  queued: {
    ...mutex.queued,
    heartbeat: ({ changes }) => heartbeats(mutexHeartbeat, { changes }),
    // No Java client stands for this election, so runs of hand-offs need no limit.
    endArgs: (keys, context) => ({ ...passingArgs(keys, context), maxDirectRun: -1, publish: "none" }),
    channelFor: () => null,
    labels: true,
  },
  force: ({ keys, changes }) =>
    boundCall(mutexForce, keys, { expected: "", publish: "none", channel: "", changes }),
};
