-- restore_collection puts a journaled revision of a collection in place of what
-- was found there. Another collection of its name leaves its jobs behind, which
-- are noted to be cleared away.
--
-- KEYS     lease (hash), collection (hash: uid, rev, def, writes), collections (zset: key -> 0),
--          gone (set: uids of deleted collections)
-- ARGV     epoch; uid and revision found there ('' and 0 for none); uid, revision, definition; collection's key
--
-- Returns LEASE if the epoch has passed, GONE if the collection was deleted, CHANGED if something else stands there
-- now, else OK.
local lease, collection, collections, gone = unpack(KEYS)
local epoch, wasuid, wasrev, uid, rev, def, key = unpack(ARGV)
if redis.call('HGET', lease, 'epoch') ~= epoch then return 'LEASE' end
if redis.call('SISMEMBER', gone, uid) == 1 then return 'GONE' end
local have = redis.call('HMGET', collection, 'uid', 'rev')
if (have[1] or '') ~= wasuid or (have[2] or '0') ~= wasrev then return 'CHANGED' end
if wasuid ~= '' and wasuid ~= uid then
	redis.call('SADD', gone, wasuid)
	redis.call('HDEL', collection, 'writes')
end
redis.call('HSET', collection, 'uid', uid, 'rev', rev, 'def', def)
redis.call('ZADD', collections, 0, key)
return 'OK'
