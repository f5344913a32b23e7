'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { group, collection, later, connected, id, same, all, error, call, settled } = require('../lib/client');
const { target } = require('../lib/target');

test('a job is created, read, replaced, patched and deleted, and each answer is the whole resource', async () => {
  const client = await connected();
  const { jobs } = client;
  const action = { type: 'Https', request: { uri: 'https://bells.example/', method: 'GET' } };
  const put = {
    properties: { startTime: later, action, recurrence: { frequency: 'Day', interval: 2, count: 10 }, state: 'Enabled' },
  };
  const want = {
    id: id(client, collection, 'jobs', 'Angelus'), type: 'Microsoft.Scheduler/jobCollections/jobs', name: 'jc/Angelus',
    properties: {
      startTime: later, action, recurrence: { frequency: 'day', interval: 2, count: 10 }, state: 'enabled',
      status: { nextExecutionTime: later, executionCount: 0, failureCount: 0, faultedCount: 0 },
    },
  };
  const created = await jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'Angelus', put);
  assert.equal(created.response.statusCode, 201);
  same(created.body, want);
  const read = await jobs.get(group, collection, 'Angelus');
  same(read, want);
  assert.ok(read.properties.startTime instanceof Date);
  same(await jobs.get('RG', 'JC', 'aNGELUS'), want); // names match in any case and keep theirs

  const again = await jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'ANGELUS', read);
  assert.equal(again.response.statusCode, 200);
  same(again.body, want);

  // PATCH merges: the rest of the recurrence stays, count too.
  want.properties.recurrence = { frequency: 'week', interval: 3, count: 10 };
  const patch = (properties) => jobs.patch(group, collection, 'Angelus', { properties });
  same(await patch({ recurrence: { frequency: 'Week', interval: 3 } }), want);
  const nextDay = new Date(later.getTime() + 86_400_000);
  want.properties.startTime = want.properties.status.nextExecutionTime = nextDay;
  same(await patch({ startTime: nextDay }), want);
  want.properties.action = { type: 'Https', request: { ...action.request, body: 'ding' } };
  same(await patch({ action: { request: { body: 'ding' } } }), want);
  same(await jobs.get(group, collection, 'Angelus'), want);

  // PUT replaces.
  same(await jobs.createOrUpdate(group, collection, 'Angelus', { properties: { startTime: later, action } }), {
    ...want,
    properties: { ...want.properties, startTime: later, action, recurrence: undefined, status: { ...want.properties.status, nextExecutionTime: later } },
  });

  const deleted = await jobs.deleteMethodWithHttpOperationResponse(group, collection, 'Angelus');
  assert.equal(deleted.response.statusCode, 200);
  await assert.rejects(jobs.get(group, collection, 'Angelus'), error(404, 'NotFound', "Job 'Angelus' cannot be found."));
});

test('a disabled job has no next execution, and no status while it never ran; it may be run', async (t) => {
  const client = await connected();
  const { jobs } = client;
  const { url } = await target(t);
  const { properties: created } = await jobs.createOrUpdate(group, collection, 'j', {
    properties: { startTime: later, action: call(url), recurrence: { frequency: 'Day' }, state: 'Disabled' },
  });
  assert.deepEqual([created.state, created.status], ['disabled', undefined]);
  const ran = await jobs.runWithHttpOperationResponse(group, collection, 'j');
  assert.equal(ran.response.statusCode, 200);
  assert.ok(!ran.body);
  assert.equal((await settled(client, 'j', 1)).status.nextExecutionTime, undefined);

  const change = async (state) => (await jobs.patch(group, collection, 'j', { properties: { state } })).properties;
  const enabled = await change('Enabled');
  same([enabled.state, enabled.status.nextExecutionTime, enabled.status.executionCount], ['enabled', later, 1]);

  await jobs.run(group, collection, 'j'); // before startTime, and the schedule stays
  same((await settled(client, 'j', 2)).status.nextExecutionTime, later);

  const disabled = await change('Disabled');
  same([disabled.state, disabled.status.nextExecutionTime, disabled.status.executionCount], ['disabled', null, 2]);
});

test('names may hold what a URL must escape, and links to pages do', async () => {
  const { jobs } = await connected();
  const names = ['Glocke (1) à 5$', "Glöckner's @home", '鐘'];
  for (const name of names) {
    const put = await jobs.createOrUpdate(group, collection, name, { properties: { startTime: later, action: call('http://127.0.0.1/') } });
    assert.equal(put.name, `${collection}/${name}`);
    same(await jobs.get(group, collection, name), put);
  }
  const { items, sizes } = await all(jobs.list(group, collection, { top: 1 }), (link) => jobs.listNext(link));
  assert.deepEqual([items.map((job) => job.name.slice(collection.length + 1)), sizes], [names, [1, 1, 1]]);
});

test('a collection takes its jobs with it, and a job made again is another', async (t) => {
  const client = await connected();
  const { jobs, jobCollections } = client;
  const { url } = await target(t);
  const put = async () => (await jobs.createOrUpdate(group, collection, 'j', {
    properties: { startTime: later, action: call(url) },
  })).properties.status.executionCount;
  assert.equal(await put(), 0);
  await jobs.run(group, collection, 'j');
  await settled(client, 'j', 1);
  await jobs.deleteMethod(group, collection, 'j');
  assert.equal(await put(), 0);
  assert.deepEqual((await jobs.listJobHistory(group, collection, 'j')).length, 0);

  await jobCollections.deleteMethod(group, collection);
  await jobCollections.createOrUpdate(group, collection, { location: 'West Europe' });
  await assert.rejects(jobs.get(group, collection, 'j'), error(404, 'NotFound', "Job 'j' cannot be found."));
});
