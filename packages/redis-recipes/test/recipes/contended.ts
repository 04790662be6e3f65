import type { AcquireOptions, LockHandle } from "@holdfast/core";
import { redissonChannels, redissonMessages } from "../../src/layout/channels.js";
import { electionKeys, type MutexKeys, mutexKeys, readWriteKeys } from "../../src/layout/keys.js";
import { writerField } from "../../src/layout/owners.js";
import type { SimulatedClient } from "./simulated-client.js";

export const lockName = "orders";
export const javaOwner = "aaaaaaaa-aaaa-4aaa-aaaa-aaaaaaaaaaaa:57";

/** A kind of lock with our queue, as its users and Java see it. */
export interface Contended {
  readonly kind: "mutex" | "read-write-lock" | "leader-election";
  readonly keys: MutexKeys;
  /** What Java writes when it takes the lock, and what it publishes when it releases. `null`: Java has no such lock. */
  readonly java: {
    readonly fields: Readonly<Record<string, string>>;
    readonly channel: string;
    readonly message: string;
  } | null;
  acquire(client: SimulatedClient, options: AcquireOptions): Promise<LockHandle>;
  /** Takes the read side, where several readers may hold at once. */
  read?(client: SimulatedClient, options: AcquireOptions): Promise<LockHandle>;
}

export const contendedMutex: Contended = {
  kind: "mutex",
  keys: mutexKeys(lockName),
  java: {
    fields: { [javaOwner]: "1" },
    channel: redissonChannels.mutex(lockName),
    message: redissonMessages.freed,
  },
  acquire: ({ provider }, options) => provider.mutex(lockName).acquire(options),
};

export const contendedReadWriteLock: Contended = {
  kind: "read-write-lock",
  keys: readWriteKeys(lockName),
  java: {
    fields: { mode: "write", [writerField(javaOwner)]: "1" },
    channel: redissonChannels.readWrite(lockName),
    message: redissonMessages.freedByWriter,
  },
  acquire: ({ provider }, options) => provider.readWriteLock(lockName).write.acquire(options),
  read: ({ provider }, options) => provider.readWriteLock(lockName).read.acquire(options),
};

export const contendedElection: Contended = {
  kind: "leader-election",
  keys: electionKeys(lockName),
  java: null,
  acquire: ({ provider }, options) => provider.leaderElection(lockName).campaign(options),
};
