/**
 * `tellOwner(owner, message)` sends a message to an owner of ours. ACL rules may refuse a publish after the first write, and an
 * error there would leave the script half done. So failures are caught, and the text of the first one is left in `mute`, which
 * the scripts that wake waiters return. `channelOf(owner)` is nil for owners that are not ours.
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

/** `tellRedisson(how, channel, message)` publishes on a channel of Redisson's. Needs `messages`. */
export const tellRedisson = `
local function tellRedisson(how, channel, message)
  if how == 'publish' or how == 'both' then say('PUBLISH', channel, message) end
  if how == 'spublish' or how == 'both' then say('SPUBLISH', channel, message) end
end
`;

export const publish: string = messages + tellRedisson;

/**
 * `mayBeKept(owner)`: whether the holder's provider may keep the lock for its next owner, which the variant digit `e` shows.
 * `tellKeeper(lock, holder)` tells such a holder that the lock is wanted. Needs `messages`.
 */
export const keepers = `
local function mayBeKept(owner)
  return string.match(owner, '^%x%x%x%x%x%x%x%x%-%x%x%x%x%-8%x%x%x%-e') ~= nil
end
local function tellKeeper(lock, holder)
  if mayBeKept(holder) then tellOwner(holder, {type = 'wanted', key = lock, owner = holder}) end
end
`;

/** `nudge(k, head)`: tells our first waiter to ask for the lock. Needs `messages`. */
export const nudge = `
local function nudge(k, head)
  if head then tellOwner(head, {type = 'nudge', key = k.lock, owner = head}) end
end
`;
