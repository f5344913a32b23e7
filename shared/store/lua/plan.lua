-- plan turns due occurrences into runs and sets their jobs' next times.
--
-- KEYS     lease (hash), due (zset: job uid -> next execution, ms), runs (zset: tag -> next action, ms),
--          the collections (hash), then for each item its job (hash) and its run (hash)
-- ARGV[1]  epoch
-- ARGV[2]  number of collections, then the uid and revision each must have
-- then     for each item: uid, revision, newest nominal time it must have (ms or ''), nominal time (ms; '' plans no
--          run), next time (ms or ''), tag, missed, whether no run of the job may be active (1 or 0), when to look
--          again before that (ms or ''), and nominal times that wait afterwards (ms, with spaces between). No job is
--          in two of them.
--
-- Returns LEASE if the epoch has passed, COLLECTION if a collection changed, else for each item six numbers in one
-- string: count, repeat, series, executions, failures, faults. It is empty if the job changed, is not alone, or is not
-- where the planner left it: a client that lost the answer may ask again, and a store that came back older has
-- forgotten some. An occurrence no newer than the newest must be the first of those that wait.
local lease, due, runs = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then
	return 'LEASE'
end
local cols = tonumber(ARGV[2])
for i = 1, cols do
	local have = redis.call('HMGET', KEYS[3 + i], 'uid', 'rev')
	if (have[1] or '') ~= ARGV[1 + 2 * i] or (have[2] or '') ~= ARGV[2 + 2 * i] then
		return 'COLLECTION'
	end
end
local function plan(job, run, uid, rev, newest, at, next, tag, missed, alone, look, wait)
	local have = redis.call('HMGET', job, 'rev', 'series', 'planned', 'repeat', 'exec', 'fail', 'fault', 'active', 'last', 'wait')
	local last, waits = have[9] or '', have[10] or ''
	if have[1] ~= rev or last ~= newest then return '' end
	if at ~= '' and tonumber(at) <= (tonumber(last) or 0) and string.match(waits, '^%d+') ~= at then return '' end
	if at ~= '' and alone == '1' and tonumber(have[8] or 0) > 0 then return '' end
	local count, number = tonumber(have[3] or 0), tonumber(have[4] or 0)
	if at ~= '' then
		count, number = count + 1, number + 1
		redis.call('HSET', run, 'uid', uid, 'rev', rev, 'at', at, 'repeat', number, 'phase', 'MainAction', 'retry', 0, 'missed', missed)
		redis.call('ZADD', runs, at, tag)
		if tonumber(at) > (tonumber(last) or 0) then last = at end
		redis.call('HSET', job, 'planned', count, 'repeat', number, 'last', last, 'next', next, 'active', tonumber(have[8] or 0) + 1)
	else
		redis.call('HSET', job, 'next', next)
	end
	if wait ~= waits then redis.call('HSET', job, 'wait', wait) end
	local when = next
	if look ~= '' and (next == '' or tonumber(look) < tonumber(next)) then when = look end
	if when ~= '' then redis.call('ZADD', due, when, uid) else redis.call('ZREM', due, uid) end
	return table.concat({count, number, have[2] or 0, have[5] or 0, have[6] or 0, have[7] or 0}, ' ')
end
local out, k = {}, 2 + cols
for a = 3 + 2 * cols, #ARGV, 10 do
	k = k + 2
	out[#out + 1] = plan(KEYS[k], KEYS[k + 1], unpack(ARGV, a, a + 9))
end
return out
