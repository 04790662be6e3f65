import { aim } from "./aim.js";
import type { FaultKind } from "./fault.js";

const mostTries = 20;

/**
 * Ends the session of a holder at servers that the runner did not start. Such a set of servers brings its own
 * `endSession`, which refuses if the worker holds nothing any more. The worker may notice the end and release before
 * `endSession` resolves. So what it does after that does not show whether the aim was right.
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
