import { clock } from "../lua/clock.js";
import { type CallScript, Reply } from "../script.js";

export interface SemaphoreAskAnswer {
  readonly serverMs: number;
  /** Clients that received it: on a sharded channel all of them, on a plain one those at this server. */
  readonly heard: number;
}

export interface SemaphoreAskArgs {
  readonly channel: string;
  readonly command: "publish" | "spublish";
}

/**
 * Asks those who hold permits of a semaphore, of either kind, to release them. Permits do not name their holders, so holders that
 * can be asked listen to a channel of their own.
 *
 * Keys: permits. Arguments: channel, how to publish. Answer: server time, how many clients received it. Redisson has no such
 * request, and its holders do not receive one.
 */
export const semaphoreAsk: CallScript<SemaphoreAskArgs, SemaphoreAskAnswer> = {
  name: "semaphore-ask",
  keyCount: 1,
  lua: `${clock}
local heard = ARGV[2] == 'spublish' and redis.call('SPUBLISH', ARGV[1], '1') or redis.call('PUBLISH', ARGV[1], '1')
return {nowUs, heard}
`,
  args: (given) => [given.channel, given.command],
  parse: (raw) => {
    const reply = new Reply("semaphore-ask", raw);
    return reply.end({ serverMs: reply.serverMs(), heard: reply.integer() });
  },
};
