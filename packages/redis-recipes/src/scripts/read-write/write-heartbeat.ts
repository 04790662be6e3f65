import { lookAtReadWrite, putWriter } from "../lua/read-write-state.js";
import type { StandAnswer } from "../mutex/answers.js";
import {
  type HeartbeatArgs,
  type HeartbeatEntry,
  heartbeatArgs,
  heartbeatLua,
  standsReader,
} from "../mutex/heartbeat.js";
import type { BatchScript } from "../script.js";

/** Like `mutex-heartbeat`, for waiting writers. Readers have no queue and no heartbeat: they try again when a message arrives. */
export const writeHeartbeat: BatchScript<HeartbeatArgs, HeartbeatEntry, StandAnswer> = {
  name: "write-heartbeat",
  keyCount: 5,
  lua: heartbeatLua(lookAtReadWrite, putWriter),
  args: (common, entries) => heartbeatArgs(common, common.changes, entries),
  parse: standsReader("write-heartbeat"),
};
