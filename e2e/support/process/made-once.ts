import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const lookEveryMs = 50;

/**
 * Makes the folder `finished` unless it is there. `make` fills another folder, which gets that name when it is complete, so an
 * interrupted attempt leaves nothing that looks finished. Test files are processes of their own. When several need the folder
 * at the same time, one makes it and the others wait. If its `make` fails, its call rejects with the error, and the next
 * process tries. A mark that is older than `withinMs`, which is the limit of `make`, was left by a killed process and is
 * removed.
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
      // When a mark was wrongly taken for an old one, two processes make the folder. The first result is as good as the second.
      if (!existsSync(finished)) await rename(staged, finished);
    } finally {
      await rm(staged, { recursive: true, force: true });
      await rm(mark, { force: true });
    }
  }
}

/** Whether this call has created the file. */
async function created(file: string): Promise<boolean> {
  try {
    await writeFile(file, `${process.pid}\n`, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** The age of the file, 0 when it is not there. */
async function ageMs(file: string): Promise<number> {
  try {
    return Date.now() - (await stat(file)).mtimeMs;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return 0;
  }
}
