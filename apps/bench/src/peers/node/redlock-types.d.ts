// What is used here of `redlock`, whose `exports` hide the declarations that it ships.
declare module "redlock" {
  import type { Redis } from "ioredis";
  export interface Lock {
    release(): Promise<unknown>;
  }
  export default class Redlock {
    constructor(clients: Iterable<Redis>, settings?: { readonly retryCount?: number });
    acquire(resources: string[], durationMs: number): Promise<Lock>;
  }
}
