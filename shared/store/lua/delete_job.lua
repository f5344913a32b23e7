-- delete_job removes a job. Its runs end when their next result or time comes.
--
-- KEYS[1]  state       hash  ready
-- KEYS[2]  collection  hash  uid, writes; there may be none, or another of its name
-- KEYS[3]  jobs        zset  name NUL uid -> 0
-- KEYS[4]  job         hash  rev ...
-- KEYS[5]  due         zset  job uid -> next execution, ms
-- KEYS[6]  final       zset  job uid -> when it became final, ms
-- KEYS[7]  dead        zset  uid of a deleted job -> when, ms
-- ARGV     collection's uid; job's uid, name, revision it must have; now (ms) and what is old (ms)
--
-- Returns OK, NOTREADY or CHANGED.
local state, collection, jobs, job, due, final, dead = unpack(KEYS)
local cuid, uid, name, expect, now, old = unpack(ARGV)

if redis.call('HGET', state, 'ready') ~= '1' then
	return 'NOTREADY'
end
if redis.call('HGET', job, 'rev') ~= expect then
	return 'CHANGED'
end
redis.call('DEL', job)
redis.call('ZREM', jobs, name .. '\0' .. uid)
redis.call('ZREM', due, uid)
redis.call('ZREM', final, uid)
redis.call('ZREMRANGEBYSCORE', dead, '-inf', old)
redis.call('ZADD', dead, now, uid)
if redis.call('HGET', collection, 'uid') == cuid then
	redis.call('HINCRBY', collection, 'writes', 1)
end
return 'OK'
