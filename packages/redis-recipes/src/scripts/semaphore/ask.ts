import { clock } from "../lua/clock.js";
import { type CallScript, Reply } from "../script.js";

export interface SemaphoreAskAnswer {
  readonly serverMs: number;
  /** Clients that heard it at this server; those of other nodes of a cluster are not counted. */
  readonly heard: number;
}

/**
 * Asks those who hold permits of a semaphore, of either kind, to let go. Permits do not say whose they are, so holders that can be asked listen
 * to a channel of their own.
 *
 * Keys: permits. Arguments: channel. Answer: server time, how many heard. Redisson has no such request, and its holders hear none.
 */
export const semaphoreAsk: CallScript<{ readonly channel: string }, SemaphoreAskAnswer> = {
  name: "semaphore-ask",
  keyCount: 1,
  lua: `${clock}
return {nowUs, redis.call('PUBLISH', ARGV[1], '1')}
`,
  args: (given) => [given.channel],
  parse: (raw) => {
    const reply = new Reply("semaphore-ask", raw);
    return reply.end({ serverMs: reply.serverMs(), heard: reply.integer() });
  },
};
