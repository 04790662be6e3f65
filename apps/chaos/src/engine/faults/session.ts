import { strike } from "./aim.js";
import type { FaultKind } from "./fault.js";

/** Ends the session of a holder at servers that the runner did not start: they know how. */
const end: FaultKind = {
  async begin(context) {
    const { crew, planned, set } = context;
    const key = crew.keys.find(({ id }) => planned.target === `holder(${id})`);
    if (key === undefined || set.endSession === undefined)
      throw new Error(
        `session.end is for the holder of a key at servers that can do it; not ${planned.target}`,
      );
    let evidence: unknown;
    const { worker, of } = await strike(
      context,
      async ({ worker: { p } }) => {
        evidence = await set.endSession?.({ p, key });
      },
      async () => {},
    );
    return { target: worker.name, evidence: { p: worker.p, of, ended: evidence } };
  },
};

export const sessionFaults: Readonly<Record<string, FaultKind>> = { "session.end": end };
