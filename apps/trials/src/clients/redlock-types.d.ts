// The part of `redlock` that is used here. Its `exports` hide the declarations that it ships.
declare module "redlock" {
  import type { Redis } from "ioredis";
  export class ExecutionError extends Error {}
  export default class Redlock {
    constructor(clients: Iterable<Redis>);
    on(event: "error", listener: (error: unknown) => void): this;
    using(
      resources: string[],
      durationMs: number,
      routine: (signal: AbortSignal) => Promise<void>,
    ): Promise<void>;
  }
}
