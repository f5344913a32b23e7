'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { group, collection, later, secret, connect, connected, error, call } = require('../lib/client');

test('what is not there is 404, in words of Azure, to every operation', async (t) => {
  const { jobs, jobCollections } = await connected();
  const noCollection = error(404, 'ResourceNotFound', "The Resource 'Microsoft.Scheduler/jobcollections/Nix' under resource group 'rg' was not found.");
  const noJob = error(404, 'NotFound', "Job 'Nix' cannot be found.");
  const job = { properties: { action: call('http://127.0.0.1/') } };
  for (const [name, want, operation] of [
    ['collection', noCollection, () => jobCollections.get(group, 'Nix')],
    ['patch of a collection', noCollection, () => jobCollections.patch(group, 'Nix', {})],
    ['delete of a collection', noCollection, () => jobCollections.deleteMethod(group, 'Nix')],
    ['enable', noCollection, () => jobCollections.enable(group, 'Nix')],
    ['disable', noCollection, () => jobCollections.disable(group, 'Nix')],
    ['put of a job into no collection', noCollection, () => jobs.createOrUpdate(group, 'Nix', 'j', job)],
    ['list of jobs of no collection', noCollection, () => jobs.list(group, 'Nix')],
    ['job', noJob, () => jobs.get(group, collection, 'Nix')],
    ['patch of a job', noJob, () => jobs.patch(group, collection, 'Nix', job)],
    ['delete of a job', noJob, () => jobs.deleteMethod(group, collection, 'Nix')],
    ['run', noJob, () => jobs.run(group, collection, 'Nix')],
    ['history', noJob, () => jobs.listJobHistory(group, collection, 'Nix')],
  ]) {
    await t.test(name, () => assert.rejects(operation(), want));
  }
});

test('a definition that is wrong is 400, and the message names the field', async (t) => {
  const { jobs, jobCollections } = await connected();
  for (const [name, change, message] of [
    ['no action', (p) => { delete p.action; }, 'action.type must be Http, Https, StorageQueue, ServiceBusQueue or ServiceBusTopic'],
    ['no request', (p) => { delete p.action.request; }, 'action.request must be given with type Http'],
    ['no uri', (p) => { delete p.action.request.uri; }, 'action.request.uri must be given'],
    ['http for Https', (p) => { p.action.type = 'Https'; }, 'action.request.uri must begin with https:// with type Https'],
    ['method', (p) => { p.action.request.method = 'RING'; }, 'action.request.method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS'],
    ['no queue', (p) => { p.action.type = 'StorageQueue'; }, 'action.queueMessage must be given with type StorageQueue'],
    ['retry count', (p) => { p.action.retryPolicy.retryCount = 21; }, 'action.retryPolicy.retryCount must be between 0 and 20'],
    ['empty hours', (p) => { p.recurrence.schedule = { hours: [] }; }, 'recurrence.schedule.hours must not be empty'],
    ['endTime in the past', (p) => { p.recurrence.endTime = new Date(0); }, 'recurrence.endTime must not be in the past'],
    ['startTime too far ahead', (p) => { p.startTime = new Date(Date.now() + 730 * 86_400_000); }, 'startTime must be at most 18 months ahead'],
    ['state', (p) => { p.state = 'Faulted'; }, 'state must be enabled or disabled'],
  ]) {
    await t.test(name, async () => {
      const properties = { action: call('http://127.0.0.1/'), recurrence: { frequency: 'Day' } };
      change(properties);
      await assert.rejects(jobs.createOrUpdate(group, collection, 'j', { properties }), error(400, 'BadRequest', message));
    });
  }
  await t.test('top', () => assert.rejects(jobs.list(group, collection, { top: 100, filter: 'state eq Resting' }),
    error(400, 'BadRequest', '$filter must be "state eq" and one of enabled, disabled, completed, faulted')));
  await t.test('location', () => assert.rejects(jobCollections.createOrUpdate(group, 'x', {}),
    error(400, 'BadRequest', 'location must be given')));
});

test('what a collection does not allow is 409', async () => {
  const { jobs, jobCollections } = connect();
  const put = (name, sku, quota) =>
    jobCollections.createOrUpdate(group, name, { location: 'West Europe', properties: { sku: { name: sku }, quota } });
  const putJob = (name, frequency) => jobs.createOrUpdate(group, collection, name, {
    properties: { startTime: later, action: call('http://127.0.0.1/'), recurrence: { frequency } },
  });
  const conflict = (message) => error(409, 'Conflict', message);

  await put(collection, 'Standard', { maxJobCount: 1, maxRecurrence: { frequency: 'Hour', interval: 1 } });
  await putJob('one', 'Hour');
  await assert.rejects(putJob('two', 'Hour'),
    conflict("The job collection holds as many jobs as its quota allows. Delete one, or raise the quota's maxJobCount."));
  await assert.rejects(putJob('one', 'Minute'),
    conflict("The job's recurrence is faster than its collection allows, which is once in 1 hour."));
  await assert.rejects(put(collection, 'Standard', { maxRecurrence: { frequency: 'Day', interval: 1 } }),
    conflict("Job 'one' does not fit what job collection 'jc' is to become: The job's recurrence is faster than its collection allows, which is once in 1 day."));

  await put('free', 'Free');
  await assert.rejects(put('free2', 'Free'),
    conflict("A subscription may have one Free job collection, and it has 'free' in resource group 'rg'."));
  const authentication = { type: 'Basic', username: 'u', password: secret };
  const action = { type: 'Https', request: { uri: 'https://bells.example/', method: 'GET', authentication } };
  await assert.rejects(jobs.createOrUpdate(group, 'free', 'j', { properties: { action } }),
    conflict('A Free collection does not allow action.request.authentication.'));
  await jobCollections.disable(group, collection);
  await assert.rejects(jobs.run(group, collection, 'one'),
    conflict("Job collection 'jc' is Disabled, so its jobs do not run. Enable it first."));
});
