-- import_job puts a job in place with all that a backup holds of it, in one
-- moment, so that no planner sees a part. It never replaces anything.
--
-- KEYS     state, collection, job (hashes), jobs (zset: name NUL uid -> 0), due, final, dead, runs (zsets), then its
--          runs (hashes)
-- ARGV     collection's uid; job's uid and name; next time (ms or ''); when it became final (ms or ''); the number of
--          fields of the job's hash, times two; then these fields and their values
-- then     for each run 8: tag, when to act on it (ms), revision, nominal time (ms), repeat, manual (1 or ''), phase,
--          retry count
--
-- Returns OK; NOTREADY; COLLECTION if the collection is not there; CHANGED if the job is, or another of its name.
local state, collection, job, jobs, due, final, dead, runs = unpack(KEYS)
local cuid, uid, name, next, finished = unpack(ARGV, 1, 5)
local n = tonumber(ARGV[6])

if redis.call('HGET', state, 'ready') ~= '1' then return 'NOTREADY' end
if redis.call('HGET', collection, 'uid') ~= cuid then return 'COLLECTION' end
if redis.call('EXISTS', job) == 1 or #redis.call('ZRANGEBYLEX', jobs, '[' .. name .. '\0', '(' .. name .. '\1', 'LIMIT', 0, 1) > 0 then
	return 'CHANGED'
end
redis.call('HSET', job, unpack(ARGV, 7, 6 + n))
redis.call('ZADD', jobs, 0, name .. '\0' .. uid)
redis.call('ZREM', dead, uid) -- whoever restores what was deleted a moment ago means it
if next ~= '' then redis.call('ZADD', due, next, uid) end
if finished ~= '' then redis.call('ZADD', final, finished, uid) end
for i = 0, (#ARGV - 6 - n) / 8 - 1 do
	local run = KEYS[9 + i]
	local tag, when, rev, at, number, manual, phase, retry = unpack(ARGV, 7 + n + i * 8, 14 + n + i * 8)
	redis.call('HSET', run, 'uid', uid, 'rev', rev, 'at', at, 'repeat', number, 'phase', phase, 'retry', retry, 'seq', '', 'resend', 0)
	if manual ~= '' then redis.call('HSET', run, 'manual', manual) end
	redis.call('ZADD', runs, when, tag)
end
redis.call('HINCRBY', collection, 'writes', 1)
return 'OK'
