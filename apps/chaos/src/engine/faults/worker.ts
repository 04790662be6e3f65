import { strike } from "./aim.js";
import type { FaultContext, FaultKind, OngoingFault } from "./fault.js";

/** SIGSTOP until healed: the process knows nothing of it, its connections stay. */
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

/** SIGKILL. Healed, it starts again as its next incarnation. */
const kill: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    const { crew, planned } = context;
    const { worker, of } = await strike(
      context,
      // Stopped first, so that it is known whether it still was who it was taken for.
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
