import { clock } from "../lua/clock.js";
import { publish } from "../lua/publish.js";
import { readWriteState } from "../lua/read-write-state.js";
import { stand } from "../lua/stand.js";
import { token } from "../lua/token.js";
import { waiters } from "../lua/waiters.js";
import type { StandAnswer } from "../mutex/answers.js";
import {
  type HeartbeatArgs,
  type HeartbeatEntry,
  heartbeatArgs,
  heartbeatBody,
  standsReader,
} from "../mutex/heartbeat.js";
import type { BatchScript } from "../script.js";

/** Like `mutex-heartbeat`, for writers that wait. Readers have no queue and no heartbeat: they try again when a message arrives. */
export const writeHeartbeat: BatchScript<HeartbeatArgs, HeartbeatEntry, StandAnswer> = {
  name: "write-heartbeat",
  keyCount: 5,
  lua: clock + publish + token + waiters + readWriteState + stand + heartbeatBody,
  args: (common, entries) => heartbeatArgs(common, common.changes, entries),
  parse: standsReader("write-heartbeat"),
};
