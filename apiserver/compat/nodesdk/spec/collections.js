'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { group, collection, connect, connected, id, same, all, error } = require('../lib/client');

test('a collection is created, read, replaced, patched and deleted, and each answer is the whole resource', async () => {
  const client = connect();
  const { jobCollections } = client;
  const want = {
    id: id(client, 'Bells'), type: 'Microsoft.Scheduler/jobCollections', name: 'Bells',
    location: 'West Europe',
    tags: { department: 'marketing', Tower: 'north' },
    properties: {
      sku: { name: 'P10Premium' }, state: 'Enabled',
      quota: { maxJobCount: 20, maxRecurrence: { frequency: 'hour', interval: 2 } },
    },
  };
  const put = {
    name: 'ignored', location: 'westeurope', tags: want.tags,
    properties: { sku: { name: 'P10Premium' }, quota: { maxJobCount: 20, maxRecurrence: { frequency: 'Hour', interval: 2 } } },
  };
  const created = await jobCollections.createOrUpdateWithHttpOperationResponse(group, 'Bells', put);
  assert.equal(created.response.statusCode, 201);
  same(created.body, want);
  const read = await jobCollections.get(group, 'Bells');
  same(read, want);
  same(await jobCollections.get(group, 'bELLS'), want); // names match in any case and keep theirs

  const again = await jobCollections.createOrUpdateWithHttpOperationResponse(group, 'Bells', read);
  assert.equal(again.response.statusCode, 201); // always
  same(again.body, want);

  const patch = { tags: { city: 'Ghent' }, properties: { quota: { maxJobCount: 30 } } };
  want.tags.city = 'Ghent';
  want.properties.quota.maxJobCount = 30;
  same(await jobCollections.patch(group, 'Bells', patch), want);
  same(await jobCollections.get(group, 'Bells'), want);

  // PUT replaces: tags and quota are gone, sku and state have their defaults.
  same(await jobCollections.createOrUpdate(group, 'Bells', { location: 'Moon Base 1' }), {
    id: want.id, type: want.type, name: want.name, location: 'Moon Base 1',
    properties: { sku: { name: 'Standard' }, state: 'Enabled' },
  });

  const deleted = await jobCollections.deleteMethodWithHttpOperationResponse(group, 'Bells');
  assert.equal(deleted.response.statusCode, 200);
  await assert.rejects(jobCollections.get(group, 'Bells'), error(404, 'ResourceNotFound',
    "The Resource 'Microsoft.Scheduler/jobcollections/Bells' under resource group 'rg' was not found."));
});

test('disable and enable are over with their first answer, and the next get shows the state', async () => {
  const { jobCollections } = await connected();
  const state = async () => (await jobCollections.get(group, collection)).properties.state;
  for (const [operation, want] of [
    ['disable', 'Disabled'], ['disable', 'Disabled'], ['enable', 'Enabled'], ['beginDisable', 'Disabled'], ['beginEnable', 'Enabled'],
  ]) {
    const { response, body } = await jobCollections[`${operation}WithHttpOperationResponse`](group, collection);
    assert.equal(response.statusCode, 200, operation);
    assert.ok(!body, operation);
    assert.equal(await state(), want, operation);
  }
  await jobCollections.patch(group, collection, { properties: { state: 'Suspended' } });
  assert.equal(await state(), 'Suspended');

  const { response } = await jobCollections.beginDeleteMethodWithHttpOperationResponse(group, collection);
  assert.equal(response.statusCode, 200);
});

test('every sku is answered as it was sent, with its quota or with none', async () => {
  const { jobCollections } = connect();
  for (const sku of ['Free', 'Standard', 'P10Premium', 'P20Premium']) {
    for (const quota of [undefined, { maxJobCount: 5 }, { maxRecurrence: { frequency: 'day', interval: 1 } }]) {
      const properties = { sku: { name: sku }, state: 'Enabled', quota };
      same((await jobCollections.createOrUpdate(group, sku, { location: 'West Europe', properties })).properties, properties);
    }
  }
});

test('both lists are sorted by group, then name, and go on where a page ends', async () => {
  const { jobCollections } = connect();
  const empty = await jobCollections.listBySubscription();
  assert.deepEqual([empty.length, empty.nextLink], [0, undefined]);

  const add = (resourceGroup, name) => jobCollections.createOrUpdate(resourceGroup, name, { location: 'West Europe' });
  const inGroup = Array.from({ length: 101 }, (_, i) => `jc${String(i).padStart(3, '0')}`);
  await Promise.all([add('zoo', 'a'), add('attic', 'z'), ...inGroup.map((name) => add(group, name))]);

  const byGroup = await all(jobCollections.listByResourceGroup(group), (link) => jobCollections.listByResourceGroupNext(link));
  assert.deepEqual(byGroup.items.map(({ name }) => name), inGroup);
  assert.deepEqual(byGroup.sizes, [100, 1]);
  const bySubscription = await all(jobCollections.listBySubscription(), (link) => jobCollections.listBySubscriptionNext(link));
  assert.deepEqual(bySubscription.items.map(({ name }) => name), ['z', ...inGroup, 'a']);
  assert.deepEqual(bySubscription.sizes, [100, 3]);
  same(bySubscription.items[1], await jobCollections.get(group, inGroup[0])); // a list has whole resources
});
