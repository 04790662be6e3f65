// What this repository uses of `redlock`, whose `exports` hide the declarations that it ships.
declare module "redlock" {
  import type { Redis } from "ioredis";
  export interface Lock {
    release(): Promise<unknown>;
  }
  export class ExecutionError extends Error {}
  export default class Redlock {
    constructor(
      clients: Iterable<Redis>,
      settings?: { readonly retryCount?: number; readonly automaticExtensionThreshold?: number },
    );
    on(event: "error", listener: (error: unknown) => void): this;
    using(
      resources: string[],
      durationMs: number,
      routine: (signal: AbortSignal) => Promise<void>,
    ): Promise<void>;
    acquire(resources: string[], durationMs: number): Promise<Lock>;
  }
}
