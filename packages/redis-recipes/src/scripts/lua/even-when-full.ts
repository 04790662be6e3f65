/**
 * The first line of a script that renews, gives back or keeps a place in a queue, and whose first write may need memory: with it
 * the script runs also at `maxmemory`. Without it the server would refuse the write for as long as it is full: holds and places
 * would be lost, and permits would not be given back. Scripts whose first write frees memory or sets a time do not need it, since
 * Redis refuses no write after the first.
 *
 * In a cluster a script with this line may touch keys of one slot only. All our scripts do so.
 */
export const evenWhenFull = "#!lua flags=allow-oom\n";
