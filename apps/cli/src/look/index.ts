import type { Command } from "../command.js";
import { commonOptions } from "../settings.js";
import { completionCommand } from "./completion.js";
import { doctor } from "./doctor.js";
import { ls } from "./ls.js";
import { release } from "./release.js";
import { show } from "./show.js";
import { waits } from "./waits.js";
import { watch } from "./watch.js";

const completion: Command = completionCommand(async () => {
  // The list of all commands contains these.
  const { allCommands } = await import("../commands.js");
  return { commands: await allCommands(), common: commonOptions };
});

/** The commands that look at locks, and what belongs to it. */
export const lookCommands: readonly Command[] = [ls, show, watch, waits, release, doctor, completion];
