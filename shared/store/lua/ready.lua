-- ready opens a shard for writes and plans, or closes it, and notes how far it
-- has read.
--
-- KEYS[1]  lease  hash
-- KEYS[2]  state  hash  ready, journal, history, seq
-- ARGV     epoch; ready (1 or 0); place in the journal; history's identity; place in the history; the identity and
--          place that must be there ('' for any)
--
-- Returns LEASE if the epoch has passed, BEHIND if the shard is at another place in the history, else OK.
local lease, state = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
local place = redis.call('HMGET', state, 'history', 'seq')
if ARGV[6] ~= '' and (place[1] ~= ARGV[6] or place[2] ~= ARGV[7]) then return 'BEHIND' end
redis.call('HSET', state, 'ready', ARGV[2], 'journal', ARGV[3], 'history', ARGV[4], 'seq', ARGV[5])
return 'OK'
