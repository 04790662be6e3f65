import { CuratorRecipe } from "./java-recipe.js";
import { fromHex, toHex } from "./java-values.js";

/** One `GroupMember`. */
export class CuratorGroupMember extends CuratorRecipe {
  async start(): Promise<void> {
    await this.ask("start");
  }

  /** The data of each member by its id. Curator answers from a cache, so they may be a little late. */
  async members(): Promise<Map<string, Uint8Array>> {
    const words = await this.ask("members");
    const members = new Map<string, Uint8Array>();
    for (let at = 0; at < words.length; at += 2) members.set(words[at] ?? "", fromHex(words[at + 1] ?? ""));
    return members;
  }

  async setData(data: Uint8Array): Promise<void> {
    await this.ask("setData", [toHex(data)]);
  }

  async close(): Promise<void> {
    await this.ask("close");
  }
}
