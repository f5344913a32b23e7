-- restore_job puts a journaled revision of a job in place, unless the store has
-- it or a newer one.
--
-- KEYS     lease (hash), jobs (zset: name NUL uid -> 0), job (hash)
-- ARGV     epoch; revision; uid; name; definition; state; series
--
-- Returns LEASE if the epoch has passed, else OK.
local lease, jobs, job = unpack(KEYS)
local epoch, rev, uid, name, def, state, series = unpack(ARGV)
if redis.call('HGET', lease, 'epoch') ~= epoch then return 'LEASE' end
local have = redis.call('HMGET', job, 'rev', 'series')
if tonumber(have[1] or 0) >= tonumber(rev) then return 'OK' end
redis.call('HSET', job, 'rev', rev, 'def', def, 'state', state, 'series', series, 'repeat', 0)
if have[2] ~= series then
	redis.call('HSET', job, 'planned', 0)
	redis.call('HDEL', job, 'outcome')
end
redis.call('ZADD', jobs, 0, name .. '\0' .. uid)
return 'OK'
