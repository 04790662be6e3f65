import { aim } from "./aim.js";
import type { FaultKind } from "./fault.js";

const mostTries = 20;

/**
 * Ends the session of a holder at servers that the runner did not start: they know how, and refuse where it holds nothing any more. Its
 * owner may hear of it and give back before that is answered, so what it does then shows nothing of the aim.
 */
const end: FaultKind = {
  async begin(context) {
    const { crew, planned, set } = context;
    const key = crew.keys.find(({ id }) => planned.target === `holder(${id})`);
    if (key === undefined || set.endSession === undefined)
      throw new Error(
        `session.end is for the holder of a key at servers that can do it; not ${planned.target}`,
      );
    for (let tries = 1; ; tries++) {
      const aimed = await aim(context);
      if (aimed === null) throw new Error(`session.end: there was no ${planned.target} to hit`);
      const { p, name } = aimed.worker;
      context.begins(name);
      try {
        const ended = await set.endSession({ p, key });
        return { target: name, evidence: { p, of: aimed.of, ended } };
      } catch (error) {
        if (tries >= mostTries) throw error;
        context.missed(name, { missed: aimed.of, why: String(error) });
      }
    }
  },
};

export const sessionFaults: Readonly<Record<string, FaultKind>> = { "session.end": end };
