/**
 * `tellOwner(owner, message)`. Publishing can fail by access rules after the first write, where an error would leave half a script done:
 * failures are caught, and the first one's text is left in `mute`, which every script that publishes answers. `channelOf(owner)` is nil for
 * owners that are not ours.
 */
export const messages = `
local mute = ''
local function say(command, channel, message)
  local answer = redis.pcall(command, channel, message)
  if type(answer) == 'table' and answer.err and mute == '' then mute = answer.err end
end
local function channelOf(owner)
  local uuid = string.match(owner, '^(%x%x%x%x%x%x%x%x%-%x%x%x%x%-8%x%x%x%-%x%x%x%x%-%x+):%d+$')
  return uuid and 'holdfast_grant:' .. uuid
end
local function tellOwner(owner, message)
  local channel = channelOf(owner)
  if channel then say('PUBLISH', channel, cjson.encode(message)) end
end
`;

/** `tellRedisson(how, channel, message)`. Needs `messages`. */
export const tellRedisson = `
local function tellRedisson(how, channel, message)
  if how == 'publish' or how == 'both' then say('PUBLISH', channel, message) end
  if how == 'spublish' or how == 'both' then say('SPUBLISH', channel, message) end
end
`;

export const publish: string = messages + tellRedisson;

/**
 * `mayBeKept(owner)`: the holder is of a provider that may keep the lock for its next owner, as the variant digit `e` says.
 * `tellKeeper(lock, holder)` says to such a holder that the lock is wanted. Needs `messages`.
 */
export const keepers = `
local function mayBeKept(owner)
  return string.match(owner, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-8%x%x%x%-e') ~= nil
end
local function tellKeeper(lock, holder)
  if mayBeKept(holder) then tellOwner(holder, {type = 'wanted', key = lock, owner = holder}) end
end
`;

/** `nudge(k, head)`: the first waiter of ours is to look. Needs `messages`. */
export const nudge = `
local function nudge(k, head)
  if head then tellOwner(head, {type = 'nudge', key = k.lock, owner = head}) end
end
`;
