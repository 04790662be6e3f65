import type { BarrierStore } from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import { barrierKeys } from "../../layout/keys.js";
import { barrierGate, type GateArgs } from "../../scripts/barrier/gate.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

/**
 * A gate, which Redisson does not have. It is shut while the key `holdfast_barrier:{name}` exists. The key has no TTL, so the
 * gate stays shut after the client that shut it is gone. Shutting or opening twice has the effect of once. `name`: with the
 * provider's prefix.
 */
export function redisBarrier(runs: RetryingRequests, name: string): BarrierStore {
  const keys = [barrierKeys(name).shut] as const;
  const channel = ourChannels.barrier(name);
  const call = async (action: GateArgs["action"], patient: boolean): Promise<boolean> => {
    const args = () =>
      barrierGate.args({ action, notAfterMs: runs.requests.notAfterMs(keys[0]), changes: channel });
    return (await runs.run(barrierGate, { keys, args, repeatable: true, patient })).shut;
  };
  return {
    shut: async () => void (await call("shut", false)),
    open: async () => void (await call("open", false)),
    subscribe: (changed) => runs.channelWaiters.watch(channel, "plain", changed),
    read: () => call("read", true),
  };
}
