-- run_job adds a run that a request asked for, unless it did so a moment ago: a
-- client may repeat its request. The schedule is untouched.
--
-- KEYS[1]  state       hash  ready
-- KEYS[2]  collection  hash  uid, rev
-- KEYS[3]  job         hash  rev, state, repeat, active
-- KEYS[4]  runs        zset  tag -> next action, ms
-- KEYS[5]  run         hash  uid, rev, at, repeat, manual, phase, retry
-- KEYS[6]  asked       zset  tag -> when it was asked for, ms
-- ARGV     collection's uid, revision; job's uid, revision; tag; nominal time (ms); now (ms) and what is old (ms);
--          whether no other run of the job may be active (1 or 0)
--
-- Returns OK, NOTREADY, CHANGED, FINAL or ACTIVE.
local state, collection, job, runs, run, asked = unpack(KEYS)
local cuid, crev, uid, rev, tag, at, now, old, alone = unpack(ARGV)

if redis.call('HGET', state, 'ready') ~= '1' then
	return 'NOTREADY'
end
local col = redis.call('HMGET', collection, 'uid', 'rev')
local have = redis.call('HMGET', job, 'rev', 'state', 'active')
if col[1] ~= cuid or col[2] ~= crev or have[1] ~= rev then
	return 'CHANGED'
end
if have[2] == 'completed' or have[2] == 'faulted' then
	return 'FINAL'
end
if redis.call('EXISTS', run) == 1 or redis.call('ZSCORE', asked, tag) then
	return 'OK'
end
if alone == '1' and tonumber(have[3] or 0) > 0 then
	return 'ACTIVE'
end
redis.call('ZADD', asked, now, tag) -- takes memory, so a full Redis refuses the whole script
redis.call('ZREMRANGEBYSCORE', asked, '-inf', old)
local number = redis.call('HINCRBY', job, 'repeat', 1)
redis.call('HINCRBY', job, 'active', 1)
redis.call('HSET', run, 'uid', uid, 'rev', rev, 'at', at, 'repeat', number, 'manual', 1, 'phase', 'MainAction', 'retry', 0)
redis.call('ZADD', runs, at, tag)
return 'OK'
