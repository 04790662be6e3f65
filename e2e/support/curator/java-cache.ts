import type { LineProcess } from "../process/line-process.js";
import { CuratorRecipe } from "./java-recipe.js";

/** One `CuratorCache` of a tree, started. */
export class CuratorCache extends CuratorRecipe {
  /** What its listener received, oldest first: type, path and data. */
  readonly changes: readonly string[];

  constructor(lines: LineProcess, kind: string, remoteName: string) {
    super(lines, kind, remoteName);
    const changes: string[] = [];
    this.listen((words) => changes.push(words.join(" ")));
    this.changes = changes;
  }
}
