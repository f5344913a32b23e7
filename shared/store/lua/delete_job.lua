-- delete_job removes a job. Its runs end when their next result or time comes.
--
-- KEYS[1]  state       hash  ready
-- KEYS[2]  collection  hash  writes
-- KEYS[3]  jobs        zset  name NUL uid -> 0
-- KEYS[4]  job         hash  rev ...
-- KEYS[5]  due         zset  job uid -> next execution, ms
-- KEYS[6]  final       zset  job uid -> when it became final, ms
-- ARGV[1]  uid
-- ARGV[2]  name
-- ARGV[3]  revision it must have
--
-- Returns OK, NOTREADY or CHANGED.
local state, collection, jobs, job, due, final = unpack(KEYS)
local uid, name, expect = unpack(ARGV)

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
if redis.call('EXISTS', collection) == 1 then
	redis.call('HINCRBY', collection, 'writes', 1)
end
return 'OK'
