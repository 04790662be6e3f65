/**
 * Hash with a TTL: what a client reports about itself to operators, in the fields label, host, pid, app, version and start (epoch
 * ms). Ours.
 */
export function clientKey(uuid: string): string {
  return `hf:client:${uuid}`;
}
