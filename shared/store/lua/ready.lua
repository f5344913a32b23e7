-- ready opens a shard for writes and plans, or closes it, and notes how far it
-- has read.
--
-- KEYS[1]  lease  hash
-- KEYS[2]  state  hash  ready, journal, history, seq
-- ARGV     epoch; ready (1 or 0); place in the journal; history's identity; place in the history
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, state = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
redis.call('HSET', state, 'ready', ARGV[2], 'journal', ARGV[3], 'history', ARGV[4], 'seq', ARGV[5])
return 'OK'
