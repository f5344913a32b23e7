-- put_collection creates or changes a collection.
--
-- KEYS[1]  state        hash  ready
-- KEYS[2]  collection   hash  uid, rev, writes, def
-- KEYS[3]  collections  zset  collection's key -> 0, in order of name
-- ARGV[1]  revision it must have, 0 to create
-- ARGV[2]  uid
-- ARGV[3]  revision to be
-- ARGV[4]  definition, JSON
-- ARGV[5]  collection's key
-- ARGV[6]  job writes it must have seen, or '' for any
--
-- Returns OK, NOTREADY or CHANGED.
local state, collection, collections = KEYS[1], KEYS[2], KEYS[3]
local expect, uid, rev, def, key, writes = unpack(ARGV)

if redis.call('HGET', state, 'ready') ~= '1' then
	return 'NOTREADY'
end
local have = redis.call('HMGET', collection, 'rev', 'uid', 'writes')
if (have[1] or '0') ~= expect or (expect ~= '0' and have[2] ~= uid) then
	return 'CHANGED'
end
if writes ~= '' and (have[3] or '0') ~= writes then
	return 'CHANGED'
end
redis.call('HSET', collection, 'uid', uid, 'rev', rev, 'def', def)
redis.call('ZADD', collections, 0, key)
return 'OK'
