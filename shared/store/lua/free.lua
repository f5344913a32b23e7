-- free claims the one Free collection of a subscription, or gives it back.
--
-- KEYS[1]  free  hash  subscription -> claim
-- ARGV[1]  subscription
-- ARGV[2]  claim that must stand there, '' for none
-- ARGV[3]  claim to put there, '' to give it back
--
-- Returns the claim that stands there afterwards, '' for none.
local have = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if have ~= ARGV[2] then
	return have
end
if ARGV[3] == '' then
	redis.call('HDEL', KEYS[1], ARGV[1])
else
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return ARGV[3]
