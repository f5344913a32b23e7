-- adopt gives a store that went back in time, or lost everything, the runs that
-- the history or the dispatch stream know of. A run it holds already is kept,
-- and where it stands at the same attempt learns its place in the stream. The
-- occurrence of a run that is made waits no more.
--
-- KEYS     lease (hash), runs (zset), then for each item its job and its run (hashes)
-- ARGV[1]  epoch
-- then     for each item 18: whether a run not held may be made (1 or 0), when to look after it (ms), uid, revision,
--          series, tag, manual (1 or 0), phase, retry count, nominal time (ms), sequence in the dispatch stream ('' if
--          none), resend count, and where the job stood when the attempt was dispatched: count, next time (ms or ''),
--          repeat, executions, failures, faults
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, runs = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end

local function most(job, field, have, value)
	if tonumber(value) > tonumber(have or 0) then redis.call('HSET', job, field, value) end
end

local function adopt(job, run, make, when, uid, rev, series, tag, manual, phase, retry, at, seq, resend, count, next, number, exec, fail, fault)
	local j = redis.call('HMGET', job, 'rev', 'series', 'last', 'planned', 'repeat', 'exec', 'fail', 'fault', 'wait')
	if not j[1] then return end
	local r = redis.call('HMGET', run, 'phase', 'retry')
	if r[1] then
		if r[1] == phase and r[2] == retry and seq ~= '' then
			redis.call('HSET', run, 'seq', seq, 'resend', resend)
			redis.call('ZADD', runs, when, tag)
		end
		return
	end
	if make ~= '1' then return end
	redis.call('HSET', run, 'uid', uid, 'rev', rev, 'at', at, 'repeat', number, 'phase', phase, 'retry', retry, 'seq', seq, 'resend', resend)
	redis.call('ZADD', runs, when, tag)
	redis.call('HINCRBY', job, 'active', 1)
	most(job, 'exec', j[6], exec)
	most(job, 'fail', j[7], fail)
	most(job, 'fault', j[8], fault)
	if rev == j[1] then most(job, 'repeat', j[5], number) end
	if manual == '1' then
		redis.call('HSET', run, 'manual', 1)
		return
	end
	if series == j[2] and tonumber(at) > tonumber(j[3] or 0) then redis.call('HSET', job, 'next', next) end
	most(job, 'last', j[3], at)
	if (j[9] or '') ~= '' then
		local rest = {}
		for t in string.gmatch(j[9], '%d+') do
			if t ~= at then rest[#rest + 1] = t end
		end
		redis.call('HSET', job, 'wait', table.concat(rest, ' '))
	end
	if series == j[2] then most(job, 'planned', j[4], count) end
end

for i = 0, (#ARGV - 1) / 18 - 1 do
	adopt(KEYS[3 + 2 * i], KEYS[4 + 2 * i], unpack(ARGV, 2 + i * 18, 19 + i * 18))
end
return 'OK'
