import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { NotInstalledError } from "../errors.js";
import { runApt } from "./run-apt.js";

/**
 * One file of a Debian package. Installing the whole package would start a service or bring much that is not needed
 * here.
 */
export interface UnpackedFile {
  packageName: string;
  /** The path in the package, without the slash in front. */
  path: string;
  mode: number;
}

/**
 * Downloads the package and puts only this file into `folder`. apt checks the package as it does before installing. No
 * script of the package runs.
 *
 * @throws NotInstalledError
 */
export async function unpack(apt: string, file: UnpackedFile, folder: string): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), "holdfast-unpack-"));
  try {
    await runApt(apt, ["download", "-qq", file.packageName], scratch);
    const [archive] = readdirSync(scratch).filter((name) => name.endsWith(".deb"));
    const unpacked = spawnSync(
      "dpkg-deb",
      ["-x", join(scratch, archive ?? "none"), join(scratch, "unpacked")],
      {
        encoding: "utf8",
      },
    );
    if (unpacked.status !== 0) {
      throw new NotInstalledError(
        `dpkg-deb -x of ${file.packageName} ended with ${unpacked.status}: ${unpacked.stderr}`,
      );
    }
    mkdirSync(folder, { recursive: true });
    const place = join(folder, basename(file.path));
    // A process that looks meanwhile finds no file or a complete one.
    const beside = `${place}.${process.pid}`;
    copyFileSync(join(scratch, "unpacked", file.path), beside);
    chmodSync(beside, file.mode);
    renameSync(beside, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
