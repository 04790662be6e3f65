/**
 * Comes first in a script that renews, gives back or keeps a place in a queue, and whose first write may need memory: it runs at `maxmemory`
 * too. Without it the server refuses such a write, and holds and places would be lost, and permits kept, for as long as the server is full.
 * Scripts whose first write frees memory or sets a time need no such line, as Redis refuses no write after the first.
 *
 * In a cluster a script with this line may touch keys of one slot only, which is so in all scripts of ours.
 */
export const evenWhenFull = "#!lua flags=allow-oom\n";
