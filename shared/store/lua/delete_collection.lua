-- delete_collection removes a collection. Its jobs, which nobody can reach any
-- more, are noted for the shard's planner to clear away.
--
-- KEYS[1]  state        hash  ready
-- KEYS[2]  collection   hash  uid, rev
-- KEYS[3]  collections  zset  collection's key -> 0
-- KEYS[4]  gone         set   uids of deleted collections
-- ARGV[1]  revision it must have
-- ARGV[2]  uid it must have
-- ARGV[3]  collection's key
--
-- Returns OK, NOTREADY or CHANGED.
local state, collection, collections, gone = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local expect, uid, key = unpack(ARGV)

if redis.call('HGET', state, 'ready') ~= '1' then
	return 'NOTREADY'
end
local have = redis.call('HMGET', collection, 'rev', 'uid')
if have[1] ~= expect or have[2] ~= uid then
	return 'CHANGED'
end
redis.call('DEL', collection)
redis.call('ZREM', collections, key)
redis.call('SADD', gone, uid)
return 'OK'
