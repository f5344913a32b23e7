-- ready opens a shard for writes and plans, and notes how far it has read.
--
-- KEYS[1]  lease  hash
-- KEYS[2]  state  hash  ready, journal, history, seq
-- ARGV     epoch; ready (1 or 0); place in the journal; history's identity; place in the history. Empty ones are kept.
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, state = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
for i, field in ipairs({'ready', 'journal', 'history', 'seq'}) do
	if ARGV[i + 1] ~= '' then redis.call('HSET', state, field, ARGV[i + 1]) end
end
return 'OK'
