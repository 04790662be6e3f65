import type { ProxyMode, TcpProxy } from "@holdfast/test-servers";
import { strike } from "./aim.js";
import { type FaultContext, type FaultKind, type OngoingFault, soonBack } from "./fault.js";

/** What a cut met. The counting starts just before the cut is made. */
interface Cut {
  /** The number of open connections of each proxy. */
  readonly connections: readonly number[];
  /**
   * Whether there was something to cut: a connection that was open, or one that was tried meanwhile. Connections that
   * the kernel refuses are not seen here.
   */
  met(): boolean;
}

export function cutOf(proxies: readonly Pick<TcpProxy, "open" | "accepted">[], mode: ProxyMode): Cut {
  const before = proxies.map(({ open, accepted }) => ({ open, accepted }));
  return {
    connections: before.map(({ open }) => open),
    met: () =>
      mode === "refuse" ||
      proxies.some(({ accepted }, at) => {
        const known = before[at];
        return (known?.open ?? 0) > 0 || accepted > (known?.accepted ?? 0);
      }),
  };
}

/** Sets all proxies of a worker to a mode until the fault is healed. */
function mode(of: ProxyMode): FaultKind {
  return {
    async begin(context: FaultContext): Promise<OngoingFault> {
      let cut = cutOf([], of);
      const { worker, of: aimed } = await strike(
        context,
        async ({ worker }) => {
          if (worker.link.proxies.length === 0)
            throw new Error(`${worker.name} has no proxies: its group must be proxied`);
          cut = cutOf(worker.link.proxies, of);
          await worker.link.setMode(of);
          // In this time everything arrives that was under way before.
          await new Promise((resolve) => setTimeout(resolve, 20));
        },
        async ({ worker }) => worker.link.setMode("ok"),
      );
      const { link } = worker;
      const evidence = { p: worker.p, mode: of, connections: cut.connections, of: aimed };
      return {
        target: worker.name,
        evidence: cut.met() ? evidence : null,
        heal: async () => {
          const met = cut.met();
          await link.setMode("ok");
          return met ? evidence : undefined;
        },
      };
    },
  };
}

/** Resets all connections of a worker once. New connections are let through. */
const reset: FaultKind = {
  async begin(context: FaultContext): Promise<OngoingFault> {
    let before: number[] = [];
    const { worker, of } = await strike(
      context,
      async ({ worker }) => {
        const { proxies } = worker.link;
        if (proxies.length === 0) throw new Error(`${worker.name} has no proxies: its group must be proxied`);
        const connected = (): boolean => {
          before = proxies.map(({ open }) => open);
          return before.some((open) => open > 0);
        };
        await soonBack(context, connected, `${worker.name} has no connection to reset`);
        for (const proxy of proxies) proxy.resetAll();
      },
      async () => {},
    );
    return { target: worker.name, evidence: { p: worker.p, connections: before, of } };
  },
};

export const linkFaults: Readonly<Record<string, FaultKind>> = {
  "link.hole": mode("hole"),
  "link.hole-up": mode("hole-up"),
  "link.hole-down": mode("hole-down"),
  "link.stall": mode("stall"),
  "link.stall-down": mode("stall-down"),
  "link.refuse": mode("refuse"),
  "link.reset": reset,
};
