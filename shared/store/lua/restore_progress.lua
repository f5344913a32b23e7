-- restore_progress raises a job's counters to a checkpoint's. Nothing is ever
-- lowered.
--
-- KEYS     lease (hash), job (hash), due (zset: job uid -> next execution, ms), final (zset)
-- ARGV     epoch; now (ms); uid; state; series; planned; passed; repeat; last, lastexec (ms); executions; failures; faults
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, job, due, final = unpack(KEYS)
local epoch, now, uid, state, series, planned, passed, number, last, lastexec, exec, fail, fault = unpack(ARGV)
if redis.call('HGET', lease, 'epoch') ~= epoch then return 'LEASE' end
local have = redis.call('HMGET', job, 'rev', 'series', 'state')
if not have[1] then return 'OK' end
local raise = {exec = exec, fail = fail, fault = fault, last = last, lastexec = lastexec}
if have[2] == series then raise.planned, raise.passed, raise['repeat'] = planned, passed, number end
for field, value in pairs(raise) do
	if tonumber(value) > tonumber(redis.call('HGET', job, field) or 0) then redis.call('HSET', job, field, value) end
end
if have[2] == series and (state == 'completed' or state == 'faulted') and have[3] == 'enabled' then
	redis.call('HSET', job, 'state', state, 'next', '')
	redis.call('ZREM', due, uid)
	redis.call('ZADD', final, now, uid)
end
return 'OK'
