export type Zone = "utc" | "local";

const options = {
  year: "numeric",
  month: "2-digit",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
  hourCycle: "h23",
} as const satisfies Intl.DateTimeFormatOptions;

const formats: Record<Zone, Intl.DateTimeFormat> = {
  utc: new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" }),
  local: new Intl.DateTimeFormat("en-GB", options),
};

function fields(atMs: number, zone: Zone): Record<string, string> {
  return Object.fromEntries(formats[zone].formatToParts(atMs).map(({ type, value }) => [type, value]));
}

/** `14:22:10` */
export function timeOfDay(atMs: number, zone: Zone): string {
  const part = fields(atMs, zone);
  return `${part.hour}:${part.minute}:${part.second}`;
}

/** `2026-11-21 14:22:10.004`, with `Z` after it in UTC. */
export function instant(atMs: number, zone: Zone): string {
  const part = fields(atMs, zone);
  const text = `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second}.${part.fractionalSecond}`;
  return zone === "utc" ? `${text}Z` : text;
}
