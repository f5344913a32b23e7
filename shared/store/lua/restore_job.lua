-- restore_job puts a journaled revision of a job in place, unless the store has
-- it or a newer one, or has deleted it a moment ago: the journal may not say so
-- yet.
--
-- KEYS     lease (hash), jobs (zset: name NUL uid -> 0), job (hash), dead (zset: uid of a deleted job -> when, ms)
-- ARGV     epoch; revision; uid; name; definition; state; series
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, jobs, job, dead = unpack(KEYS)
local epoch, rev, uid, name, def, state, series = unpack(ARGV)
if redis.call('HGET', lease, 'epoch') ~= epoch then return 'LEASE' end
local have = redis.call('HMGET', job, 'rev', 'series', 'active', 'def')
if tonumber(have[1] or 0) >= tonumber(rev) or redis.call('ZSCORE', dead, uid) then return 'OK' end
if tonumber(have[3] or 0) > 0 then -- runs of the old revision still need its action
	redis.call('HSET', job, 'def:' .. have[1], have[4], 'old', (redis.call('HGET', job, 'old') or '') .. have[1] .. ' ')
end
redis.call('HSET', job, 'rev', rev, 'def', def, 'state', state, 'series', series, 'repeat', 0)
if have[2] ~= series then
	redis.call('HSET', job, 'planned', 0)
	redis.call('HDEL', job, 'passed', 'outcome', 'ended')
end
redis.call('ZADD', jobs, 0, name .. '\0' .. uid)
return 'OK'
