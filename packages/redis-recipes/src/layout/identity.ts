/** Hash: what a client says of itself to operators; fields label, host, pid, app, version, start (epoch ms). With a TTL. Ours. */
export function clientKey(uuid: string): string {
  return `hf:client:${uuid}`;
}
