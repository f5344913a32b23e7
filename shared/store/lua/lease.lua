-- lease takes a shard's lease, or renews it, by Redis's own clock.
--
-- KEYS[1]  lease  hash  owner, until (ms), epoch, beat
-- ARGV[1]  owner
-- ARGV[2]  term, ms
--
-- Returns {epoch, now, until, beat}. epoch is 0 if another owner holds the
-- lease until then. An epoch is never given twice, not even after Redis lost
-- everything: it is at least the time. beat grows by one with each renewal, so
-- that a Redis that went back in time shows.
local lease = KEYS[1]
local me, term = ARGV[1], tonumber(ARGV[2])

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
local held = redis.call('HMGET', lease, 'owner', 'until', 'epoch')
local owner, till, epoch = held[1], tonumber(held[2] or 0), tonumber(held[3] or 0)

if owner ~= me then
	if owner and owner ~= '' and till > now then
		return {0, now, till, 0}
	end
	epoch = math.max(epoch + 1, now)
	redis.call('HSET', lease, 'beat', 0)
end
till = now + term
redis.call('HSET', lease, 'owner', me, 'until', string.format('%.0f', till), 'epoch', string.format('%.0f', epoch))
return {epoch, now, till, redis.call('HINCRBY', lease, 'beat', 1)}
