/** A hash from client uuid to `p:op`. Workers that have to be known in queues write it before each acquire. */
export const namesKey = (name: string): string => `holdfast_chaos_names:{${name}}`;
