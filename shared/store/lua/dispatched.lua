-- dispatched notes that runs' attempts stand in the dispatch stream, and when
-- to look after them. A run that has moved on meanwhile is left alone.
--
-- KEYS     lease (hash), runs (zset: tag -> next action, ms), then for each item its run (hash)
-- ARGV[1]  epoch
-- ARGV[2]  time to look after them, ms
-- then     for each item: tag, phase, retry count, sequence in the stream, resend count
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, runs = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then
	return 'LEASE'
end
local k = 2
for a = 3, #ARGV, 5 do
	k = k + 1
	local have = redis.call('HMGET', KEYS[k], 'phase', 'retry')
	if have[1] == ARGV[a + 1] and have[2] == ARGV[a + 2] then
		redis.call('HSET', KEYS[k], 'seq', ARGV[a + 3], 'resend', ARGV[a + 4])
		redis.call('ZADD', runs, ARGV[2], ARGV[a])
	end
end
return 'OK'
