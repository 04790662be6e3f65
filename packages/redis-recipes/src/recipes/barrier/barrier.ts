import type { BarrierStore } from "@holdfast/core/internal";
import { ourChannels } from "../../layout/channels.js";
import { barrierKeys } from "../../layout/keys.js";
import { barrierGate, type GateAnswer, type GateArgs } from "../../scripts/barrier/gate.js";
import type { RetryingRequests } from "../requests/retrying-requests.js";

type Gate = Extract<GateAnswer, { readonly status: "done" }>;

/**
 * A gate, which Redisson does not have. It is shut while the key `holdfast_barrier:{name}` exists. The key has no TTL, so the
 * gate stays shut after the client that shut it is gone. `name`: with the provider's prefix.
 *
 * A request whose answer was lost is not sent again, because another client may have shut or opened the gate since, and the
 * repeat would undo that. It counts as done if the gate is as it was to be.
 */
export function redisBarrier(runs: RetryingRequests, name: string): BarrierStore {
  const keys = [barrierKeys(name).shut] as const;
  const channel = ourChannels.barrier(name);
  const argsOf = (action: GateArgs["action"]) => () =>
    barrierGate.args({ action, notAfterMs: runs.requests.notAfterMs(keys[0]), changes: channel });
  const change = async (action: "shut" | "open"): Promise<void> => {
    const look = { args: argsOf("read"), isDone: ({ shut }: Gate) => shut === (action === "shut") };
    await runs.run(barrierGate, { keys, args: argsOf(action), repeatable: false, look, patient: false });
  };
  return {
    shut: () => change("shut"),
    open: () => change("open"),
    subscribe: (changed) => runs.channelWaiters.watch(channel, "plain", changed),
    read: async () => {
      const call = { keys, args: argsOf("read"), repeatable: true, patient: true };
      return (await runs.run(barrierGate, call)).shut;
    },
  };
}
