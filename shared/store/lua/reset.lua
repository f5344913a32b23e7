-- reset takes keys of a shard away that is not ready.
--
-- KEYS     lease, state (hashes), then the keys to delete
-- ARGV[1]  epoch
--
-- Returns LEASE if the epoch has passed, CHANGED if the shard is ready, else OK.
local lease, state = KEYS[1], KEYS[2]
if redis.call('HGET', lease, 'epoch') ~= ARGV[1] then return 'LEASE' end
if redis.call('HGET', state, 'ready') == '1' then return 'CHANGED' end
for i = 3, #KEYS do redis.call('DEL', KEYS[i]) end
return 'OK'
