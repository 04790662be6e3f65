/** Hash: client uuid to `p:op`, written by workers that shall be known in queues, in front of each acquire. */
export const namesKey = (name: string): string => `holdfast_chaos_names:{${name}}`;
