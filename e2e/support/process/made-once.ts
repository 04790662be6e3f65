import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const lookEveryMs = 50;

/**
 * Makes the folder `finished` unless it is there: `make` fills another folder, which gets that name when it is complete, so that an
 * interrupted attempt leaves nothing that looks finished. Test files are processes of their own; of those that need the folder at the
 * same time one makes it and the others wait. A process that fails rejects with its error, and the next one tries. A mark that is
 * older than `withinMs`, which is the limit of `make`, was left by a process that was killed, and counts for nothing.
 */
export async function madeOnce(
  finished: string,
  withinMs: number,
  make: (folder: string) => Promise<void>,
): Promise<void> {
  const mark = `${finished}.making`;
  await mkdir(dirname(finished), { recursive: true });
  while (!existsSync(finished)) {
    if (!(await created(mark))) {
      if ((await ageMs(mark)) > withinMs) await rm(mark, { force: true });
      else await sleep(lookEveryMs);
      continue;
    }
    const staged = await mkdtemp(join(dirname(finished), ".staged-"));
    try {
      if (existsSync(finished)) return;
      await make(staged);
      // A mark that was thought to be old lets two make it: the first is as good.
      if (!existsSync(finished)) await rename(staged, finished);
    } finally {
      await rm(staged, { recursive: true, force: true });
      await rm(mark, { force: true });
    }
  }
}

/** Whether this call has made the file. */
async function created(file: string): Promise<boolean> {
  try {
    await writeFile(file, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** 0 for a file that is not there. */
async function ageMs(file: string): Promise<number> {
  try {
    return Date.now() - (await stat(file)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return 0;
  }
}
