-- restore_progress raises a job's counters to a checkpoint's. Nothing is ever
-- lowered. What the history says up to a place must be in them already: it would
-- be counted on top.
--
-- KEYS     lease (hash), job (hash), due (zset: job uid -> next execution, ms), final (zset), state (hash: history, seq)
-- ARGV     epoch; now (ms); the history's identity and the place ('' for any); uid; state; series; planned; passed;
--          repeat; last, lastexec (ms); executions; failures; faults
--
-- Returns LEASE if the epoch has passed, BEHIND if the shard is at another place in the history, else OK.
local lease, job, due, final, shard = unpack(KEYS)
local epoch, now, history, seq, uid, state, series, planned, passed, number, last, lastexec, exec, fail, fault = unpack(ARGV)
if redis.call('HGET', lease, 'epoch') ~= epoch then return 'LEASE' end
local place = redis.call('HMGET', shard, 'history', 'seq')
if history ~= '' and (place[1] ~= history or place[2] ~= seq) then return 'BEHIND' end
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
