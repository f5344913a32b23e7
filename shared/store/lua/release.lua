-- release gives a shard's lease back at once.
--
-- KEYS[1]  lease  hash  owner, until (ms), epoch, beat
-- ARGV[1]  owner
--
-- Returns 1, or 0 if the owner did not hold it.
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
	return 0
end
redis.call('HSET', KEYS[1], 'owner', '', 'until', '0')
return 1
