/** `host:port`, as connect strings and messages have it: an IPv6 address stands in brackets. */
export function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
