-- record applies results to their runs and jobs, and moves the shard's place in
-- the history with them.
--
-- KEYS     lease, state (hashes), runs, final, due (zsets), then for each item its job and its run (hashes)
-- ARGV     epoch; history's identity; place before; place after; now (ms); then for each item 14: uid, series,
--          tag, phase, retry count, outcome, nominal time (ms; '' for a run outside the schedule), start (ms),
--          what follows (retry, error, done, fault, end, drop, pass or none), when (ms), and the job's executions,
--          failures and faults when the attempt was dispatched, below which a store that lost them is raised; of a
--          pass how many occurrences are passed over and the nominal times that wait afterwards, with spaces between
--
-- A job whose last active run ends while occurrences wait is due at once.
--
-- Returns LEASE if the epoch has passed, BEHIND if the place is not the one before or a result is of a run that
-- this store never saw planned, else OK.
local lease, state, runs, final, due = unpack(KEYS)
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
local place = redis.call('HMGET', state, 'history', 'seq')
if place[1] ~= ARGV[2] or place[2] ~= ARGV[3] then return 'BEHIND' end
for i = 0, (#ARGV - 5) / 14 - 1 do
	local follows = ARGV[14 + i * 14]
	if follows ~= 'none' and follows ~= 'pass' and redis.call('EXISTS', KEYS[7 + 2 * i]) == 0 then
		local j = redis.call('HMGET', KEYS[6 + 2 * i], 'rev', 'last')
		if j[1] and (tonumber(ARGV[12 + i * 14]) or 0) > tonumber(j[2] or 0) then return 'BEHIND' end
	end
end

local function pass(job, series, at, text)
	local count, wait = string.match(text, '^(%d+) ?(.*)$')
	local j = redis.call('HMGET', job, 'rev', 'series', 'last', 'wait')
	if not j[1] then return end
	local before, waits, list = tonumber(j[3] or 0), ' ' .. (j[4] or '') .. ' ', {}
	local last = tonumber(at) > before and at or j[3]
	for t in string.gmatch(wait, '%d+') do -- what had its turn already does not wait again
		if tonumber(t) > before or string.find(waits, ' ' .. t .. ' ', 1, true) then list[#list + 1] = t end
		if tonumber(t) > tonumber(last) then last = t end
	end
	redis.call('HSET', job, 'last', last, 'wait', table.concat(list, ' '))
	if series == j[2] then redis.call('HINCRBY', job, 'passed', count) end
end

local function apply(job, run, uid, series, tag, phase, retry, outcome, at, started, follows, when, exec, fail, fault)
	local j = redis.call('HMGET', job, 'rev', 'series', 'last', 'state', 'next', 'lastexec', 'outcome', 'exec', 'fail', 'fault', 'wait', 'ended')
	local r = redis.call('HMGET', run, 'phase', 'retry')
	if not j[1] then -- deleted meanwhile
		redis.call('DEL', run)
		redis.call('ZREM', runs, tag)
		return
	end
	if tonumber(exec) > tonumber(j[8] or 0) then redis.call('HSET', job, 'exec', exec) end
	if tonumber(fail) > tonumber(j[9] or 0) then redis.call('HSET', job, 'fail', fail) end
	if tonumber(fault) > tonumber(j[10] or 0) then redis.call('HSET', job, 'fault', fault) end
	local main, made = phase == 'MainAction', outcome ~= 'skipped'
	if outcome == 'failed' then redis.call('HINCRBY', job, 'fail', 1) end
	if main and made and (tonumber(started) or 0) > tonumber(j[6] or 0) then redis.call('HSET', job, 'lastexec', started) end
	if r[1] ~= phase or r[2] ~= retry then return end -- performed again; the run has moved on
	if main and made and retry == '0' then redis.call('HINCRBY', job, 'exec', 1) end
	if follows == 'error' or follows == 'fault' then redis.call('HINCRBY', job, 'fault', 1) end
	if follows == 'retry' or follows == 'error' then
		if follows == 'error' then phase, retry = 'ErrorAction', -1 end
		redis.call('HSET', run, 'phase', phase, 'retry', retry + 1, 'seq', '', 'resend', 0)
		redis.call('ZADD', runs, when, tag)
		return
	end
	redis.call('DEL', run)
	redis.call('ZREM', runs, tag)
	if series == j[2] and (tonumber(at) or 0) >= tonumber(j[12] or 1) then -- the newest that has ended
		local failed = follows == 'fault' or follows == 'end' or (follows == 'drop' and not (main and retry == '0'))
		j[7] = failed and 'faulted' or 'completed'
		redis.call('HSET', job, 'outcome', j[7], 'ended', at)
	end
	if redis.call('HINCRBY', job, 'active', -1) > 0 then return end
	local old = redis.call('HGET', job, 'old')
	for rev in string.gmatch(old or '', '%d+') do redis.call('HDEL', job, 'old', 'def:' .. rev) end
	if (j[11] or '') ~= '' then
		redis.call('ZADD', due, ARGV[5], uid)
	elseif j[4] == 'enabled' and (j[5] or '') == '' and j[7] then
		redis.call('HSET', job, 'state', j[7])
		redis.call('ZADD', final, ARGV[5], uid)
	end
end

for i = 0, (#ARGV - 5) / 14 - 1 do
	local job, follows = KEYS[6 + 2 * i], ARGV[14 + i * 14]
	if follows == 'pass' then
		pass(job, ARGV[7 + i * 14], ARGV[12 + i * 14], ARGV[19 + i * 14])
	elseif follows ~= 'none' then
		apply(job, KEYS[7 + 2 * i], unpack(ARGV, 6 + i * 14, 18 + i * 14))
	end
end
redis.call('HSET', state, 'seq', ARGV[4])
return 'OK'
