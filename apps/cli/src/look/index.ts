import type { Command } from "../command.js";
import { doctor } from "./doctor.js";
import { ls } from "./ls.js";
import { release } from "./release.js";
import { show } from "./show.js";
import { waits } from "./waits.js";
import { watch } from "./watch.js";

/** The commands that look at locks. */
export const lookCommands: readonly Command[] = [ls, show, watch, waits, release, doctor];
