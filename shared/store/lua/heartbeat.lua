-- heartbeat notes that a planner lives, and tells which others do.
--
-- KEYS[1]  planners  zset  planner -> lives until, ms
-- ARGV[1]  planner
-- ARGV[2]  term, ms; 0 leaves
--
-- Returns {now (ms), planner, planner, ...}, the planners sorted by name.
local planners, me, term = KEYS[1], ARGV[1], tonumber(ARGV[2])

local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', planners, '-inf', string.format('%.0f', now))
if term > 0 then
	redis.call('ZADD', planners, string.format('%.0f', now + term), me)
else
	redis.call('ZREM', planners, me)
end
local live = redis.call('ZRANGE', planners, 0, -1)
table.sort(live)
return {now, unpack(live)}
