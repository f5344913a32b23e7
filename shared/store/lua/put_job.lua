-- put_job creates or changes a job, within its collection's quota.
--
-- KEYS[1]  state       hash  ready
-- KEYS[2]  collection  hash  uid, rev, writes
-- KEYS[3]  jobs        zset  name NUL uid -> 0, in order of name
-- KEYS[4]  job         hash  rev, def, state, series, planned, passed, repeat, last, next, active, wait, old ...
-- KEYS[5]  due         zset  job uid -> next execution, ms
-- KEYS[6]  final       zset  job uid -> when it became final, ms
-- ARGV     collection's uid and revision; revision the job must have (0: create), uid, name, revision to be,
--          definition, state, series; most jobs; reschedule (1 or 0), next (ms or ''), newest nominal time it must
--          have if rescheduled (ms or ''); now (ms)
--
-- A job of which occurrences wait is due at once: the change may be their end.
--
-- Returns OK, NOTREADY, CHANGED, FULL or FINAL.
local state, collection, jobs, job, due, final = unpack(KEYS)
local cuid, crev, expect, uid, name, rev, def, status, series, most, reschedule, next, last, now = unpack(ARGV)

if redis.call('HGET', state, 'ready') ~= '1' then
	return 'NOTREADY'
end
local col = redis.call('HMGET', collection, 'uid', 'rev')
if col[1] ~= cuid or col[2] ~= crev then
	return 'CHANGED'
end
local was = redis.call('HMGET', job, 'rev', 'state', 'last', 'series', 'active', 'def', 'wait')
if expect == '0' then
	if #redis.call('ZRANGEBYLEX', jobs, '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1) > 0 then
		return 'CHANGED'
	end
	if redis.call('ZCARD', jobs) >= tonumber(most) then
		return 'FULL'
	end
	redis.call('ZADD', jobs, 0, name .. '\0' .. uid)
elseif was[1] ~= expect or (reschedule == '1' and (was[3] or '') ~= last) then
	return 'CHANGED'
elseif was[2] == 'completed' or was[2] == 'faulted' then
	return 'FINAL'
elseif tonumber(was[5] or 0) > 0 then -- runs of the old revision still need its action
	redis.call('HSET', job, 'def:' .. expect, was[6], 'old', (redis.call('HGET', job, 'old') or '') .. expect .. ' ')
end
redis.call('HSET', job, 'rev', rev, 'def', def, 'state', status, 'series', series, 'repeat', 0)
if was[4] ~= series then
	redis.call('HSET', job, 'planned', 0)
	redis.call('HDEL', job, 'passed', 'outcome', 'ended')
end
if reschedule == '1' then
	redis.call('HSET', job, 'next', next)
	redis.call('ZREM', due, uid)
	if next ~= '' then
		redis.call('ZADD', due, next, uid)
	end
end
if (was[7] or '') ~= '' then
	redis.call('ZADD', due, now, uid)
end
if status == 'completed' or status == 'faulted' then
	redis.call('ZADD', final, now, uid)
end
redis.call('HINCRBY', collection, 'writes', 1)
return 'OK'
