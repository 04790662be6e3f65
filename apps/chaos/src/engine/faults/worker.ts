import { strike } from "./aim.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";

/** Stops a worker with SIGSTOP until healed. The process does not notice it, and its connections stay open. */
const pause: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { crew } = context;
    const { worker, of } = await strike(
      context,
      async ({ worker }) => crew.pause(worker),
      async ({ worker }) => crew.resume(worker),
    );
    const { p, process } = worker;
    return {
      target: worker.name,
      evidence: { p, pid: process.pid, stopped: process.standsStill(), of },
      heal: async () => {
        crew.resume(worker);
        return undefined;
      },
    };
  },
};

/** Kills a worker with SIGKILL. Healing starts its next incarnation. */
const kill: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { crew, planned } = context;
    const { worker, of } = await strike(
      context,
      // Stop it first, to know whether it still was the target when it was hit.
      async ({ worker }) => crew.pause(worker),
      async ({ worker }) => crew.resume(worker),
    );
    const { p, process } = worker;
    await crew.kill(worker);
    const evidence = { p, pid: process.pid, gone: !process.running, of };
    if (planned.forMs === undefined) return { target: worker.name, evidence };
    return {
      target: worker.name,
      evidence,
      heal: async () => {
        await crew.restart(worker);
        return { p: worker.p };
      },
    };
  },
};

export const workerFaults: Readonly<Record<string, FaultKind>> = {
  "worker.pause": pause,
  "worker.kill": kill,
};
