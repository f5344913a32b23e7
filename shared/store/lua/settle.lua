-- settle sets jobs' next times as worked out from their definitions, after the
-- store was rebuilt or where no occurrence is left to plan.
--
-- KEYS     lease (hash), due (zset: job uid -> next execution, ms), final (zset), then each item's job (hash)
-- ARGV[1]  epoch
-- ARGV[2]  now, ms
-- then     for each item: uid, revision, newest nominal time it must have (ms or ''), next time (ms or '')
--
-- A job that is enabled, has no next time and no run under way becomes what its last occurrence was, or completed.
-- One that is final already is due no more. One of which occurrences wait is due at once, and not final.
--
-- Returns LEASE if the epoch has passed, else OK. Jobs that changed meanwhile are left alone.
local lease, due, final = unpack(KEYS)
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
for i = 0, (#ARGV - 2) / 4 - 1 do
	local job = KEYS[4 + i]
	local uid, rev, last, next = unpack(ARGV, 3 + i * 4, 6 + i * 4)
	local j = redis.call('HMGET', job, 'rev', 'state', 'last', 'active', 'outcome', 'wait')
	local same = j[1] == rev and (j[3] or '') == last
	if same and (j[2] == 'completed' or j[2] == 'faulted') then
		redis.call('HSET', job, 'next', '')
		redis.call('ZREM', due, uid)
	elseif same then
		redis.call('HSET', job, 'next', next)
		if (j[6] or '') ~= '' then
			redis.call('ZADD', due, ARGV[2], uid)
		elseif next ~= '' then
			redis.call('ZADD', due, next, uid)
		else
			redis.call('ZREM', due, uid)
			if j[2] == 'enabled' and tonumber(j[4] or 0) == 0 then
				redis.call('HSET', job, 'state', j[5] or 'completed')
				redis.call('ZADD', final, ARGV[2], uid)
			end
		end
	end
end
return 'OK'
