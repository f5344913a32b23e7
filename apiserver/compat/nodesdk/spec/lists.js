'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { group, collection, later, connected, same, all, call, settled } = require('../lib/client');
const { target } = require('../lib/target');

test('jobs are listed by name, with $top, $skip and $filter, on as many pages as it takes', async (t) => {
  const { jobs } = await connected({ sku: { name: 'P20Premium' } });
  const empty = await jobs.list(group, collection);
  assert.deepEqual([empty.length, empty.nextLink], [0, undefined]);

  const every = Array.from({ length: 103 }, (_, i) => `j${String(i).padStart(3, '0')}`);
  const isDisabled = (_, i) => i % 20 === 7;
  const disabled = every.filter(isDisabled);
  const enabled = every.filter((name, i) => !isDisabled(name, i));
  await Promise.all(every.map((name) => jobs.createOrUpdate(group, collection, name, {
    properties: { startTime: later, action: call('http://127.0.0.1/'), state: disabled.includes(name) ? 'Disabled' : 'Enabled' },
  })));
  for (const [name, options, want, pages] of [
    ['a page has 100', {}, every, [100, 3]],
    ['top', { top: 40 }, every, [40, 40, 23]],
    ['skip', { skip: 99 }, every.slice(99), [4]],
    ['top and skip', { top: 2, skip: 98 }, every.slice(98), [2, 2, 1]],
    ['skip all', { skip: 103 }, [], [0]],
    ['filter', { filter: 'state eq Disabled' }, disabled, [5]],
    ['filter, quoted and in another case', { filter: "State EQ 'disabled'" }, disabled, [5]],
    ['filter and top', { filter: 'state eq Disabled', top: 2 }, disabled, [2, 2, 1]],
    ['filter, top and skip', { filter: 'state eq Disabled', top: 3, skip: 1 }, disabled.slice(1), [3, 1]],
    ['filter the others', { filter: 'state eq Enabled' }, enabled, [98]],
    ['filter for none', { filter: 'state eq Faulted' }, [], [0]],
  ]) {
    await t.test(name, async () => {
      const { items, sizes } = await all(jobs.list(group, collection, options), (link) => jobs.listNext(link));
      assert.deepEqual(items.map((job) => job.name.slice(`${collection}/`.length)), want);
      assert.deepEqual(sizes, pages);
    });
  }
  same((await jobs.list(group, collection, { top: 1 }))[0], await jobs.get(group, collection, 'j000')); // a list has whole resources
});

test('history is listed the newest first, in the same ways', async (t) => {
  const client = await connected();
  const { jobs } = client;
  const { url } = await target(t);
  const properties = { startTime: later, action: { ...call(url), retryPolicy: { retryType: 'None' } } };
  await jobs.createOrUpdate(group, collection, 'j', { properties });
  for (let run = 1; run <= 5; run++) {
    if (run === 4) { // repeatCount counts from the last update
      await jobs.patch(group, collection, 'j', { properties: { action: { request: { uri: `${url}/fail` } } } });
    }
    await jobs.run(group, collection, 'j');
    await settled(client, 'j', run);
  }
  for (const [name, options, want, pages] of [
    ['all', {}, [2, 1, 3, 2, 1], [5]],
    ['top', { top: 2 }, [2, 1, 3, 2, 1], [2, 2, 1]],
    ['skip', { skip: 3 }, [2, 1], [2]],
    ['top and skip', { top: 1, skip: 3 }, [2, 1], [1, 1]],
    ['failed', { filter: "status eq 'Failed'" }, [2, 1], [2]],
    ['completed, which have no status', { filter: 'status eq Completed' }, [3, 2, 1], [3]],
    ['completed and top', { filter: "Status eq 'completed'", top: 2 }, [3, 2, 1], [2, 1]],
    ['postponed', { filter: 'status eq Postponed' }, [], [0]],
  ]) {
    await t.test(name, async () => {
      const { items, sizes } = await all(jobs.listJobHistory(group, collection, 'j', options), (link) => jobs.listJobHistoryNext(link));
      assert.deepEqual(items.map((item) => item.properties.repeatCount), want);
      assert.deepEqual(sizes, pages);
    });
  }
});
