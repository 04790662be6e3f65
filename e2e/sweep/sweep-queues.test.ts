import { exclusiveOperations, mutexOperations } from "./operations/exclusive.js";
import { keptOperations } from "./operations/kept.js";
import { readWriteOperations } from "./operations/read-write.js";
import { electionsAndNaive, mutex, readWriteLock, writeLock } from "./recipes.js";
import { sweep } from "./sweep-tests.js";

const file = "e2e/sweep/sweep-queues.test.ts";

sweep(mutex, [...exclusiveOperations, ...mutexOperations], 122, file);
sweep(mutex, keptOperations, 122, file);
for (const recipe of [writeLock, ...electionsAndNaive]) sweep(recipe, exclusiveOperations, 610, file);
sweep(readWriteLock, readWriteOperations, 610, file);
