/** `nowUs`, `nowMs`: the server's clock, the only clock that any script reads. */
export const clock = `
local time = redis.call('TIME')
local nowUs = tonumber(time[1]) * 1000000 + tonumber(time[2])
local nowMs = math.floor(nowUs / 1000)
`;
