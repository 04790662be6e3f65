import type { GrantEngine } from "../../grants/engine.js";
import type { RecordStore } from "../../rendezvous/record.js";
import type { MemoryBoard } from "./memory-board.js";

export function memoryRecord(engine: GrantEngine, { records }: MemoryBoard, name: string): RecordStore {
  const contact = async (): Promise<void> => {
    if (engine.link.state !== "connected") await engine.contact();
  };
  return {
    async read() {
      await contact();
      return records.get(name) ?? null;
    },
    async replace(seen, text) {
      await contact();
      const now = records.get(name) ?? null;
      if (now !== text && now !== seen) return false;
      records.set(name, text);
      return true;
    },
  };
}
