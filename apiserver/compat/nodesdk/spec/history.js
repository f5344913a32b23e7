'use strict';

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { eventually, freePort } = require('../lib/server');
const { group, collection, later, secret, connected, id, same, error, call, settled, ended } = require('../lib/client');
const { target } = require('../lib/target');

const answered = (status) => `Http Action - Response from host '127.0.0.1': '${status}' Response Headers: `;

// Waits for a job's history to have so many rows, the newest first, and checks
// them: message says what a row's message begins with.
async function history(client, name, want) {
  const rows = await eventually(async () => {
    const list = await client.jobs.listJobHistory(group, collection, name);
    assert.ok(list.length >= want.length, `${list.length} rows of history, want ${want.length}`);
    return list;
  });
  assert.deepEqual(rows.map(({ properties: p }, i) => ({
    actionName: p.actionName, status: p.status, retryCount: p.retryCount, repeatCount: p.repeatCount,
    message: p.message.slice(0, want[i]?.message.length),
  })), want);
  for (const { id: path, type, name: full, properties: p } of rows) {
    assert.match(full, new RegExp(`^${collection}/${name}/\\d{20}:\\d{20}$`));
    assert.equal(path, id(client, collection, 'jobs', name, 'history', full.split('/')[2]));
    assert.equal(type, 'Microsoft.Scheduler/jobCollections/jobs/history');
    assert.ok(p.expectedExecutionTime <= p.startTime && p.startTime <= p.endTime);
  }
  assert.deepEqual(rows.map((row) => row.name), rows.map((row) => row.name).sort());
  return rows;
}

// What tells one row from another. A completed one has no status.
const row = (actionName, status, retryCount, message) => ({ actionName, status, retryCount, repeatCount: 1, message });

test('a job that is to run once runs now, its request verbatim, and is completed', async (t) => {
  const client = await connected();
  const { jobs } = client;
  const { url, received } = await target(t);
  const action = call(`${url}/bells?n=1`);
  Object.assign(action.request, {
    method: 'PUT', body: 'ding dong é', headers: { 'content-type': 'text/x-bell' },
    authentication: { type: 'Basic', username: 'quasimodo', password: secret },
  });
  await jobs.createOrUpdate(group, collection, 'once', { properties: { action } });

  const [{ properties: { message } }] = await history(client, 'once', [row('MainAction', undefined, 0, answered('OK'))]);
  assert.ok(message.endsWith(' Body: bong'));
  const { status } = await ended(client, 'once', 'completed');
  assert.ok(status.lastExecutionTime instanceof Date);
  same(status, { executionCount: 1, failureCount: 0, faultedCount: 0, lastExecutionTime: status.lastExecutionTime });

  assert.equal(received.length, 1);
  const [{ method, url: path, body, headers }] = received;
  assert.deepEqual([method, path, body], ['PUT', '/bells?n=1', 'ding dong é']);
  assert.equal(headers['content-type'], 'text/x-bell');
  assert.equal(headers['x-ms-scheduler-jobid'], 'once');
  assert.equal(headers.authorization, `Basic ${Buffer.from(`quasimodo:${secret}`).toString('base64')}`);

  // What is completed is so for good.
  const over = error(409, 'Conflict', "Job 'once' is completed and can no longer be changed or run, only deleted.");
  await assert.rejects(jobs.patch(group, collection, 'once', { properties: { state: 'Disabled' } }), over);
  await assert.rejects(jobs.run(group, collection, 'once'), over);
  await jobs.deleteMethod(group, collection, 'once');
});

test('a password that a PATCH leaves out stays', async (t) => {
  const client = await connected();
  const { jobs } = client;
  const { url, received } = await target(t);
  const action = call(url);
  action.request.authentication = { type: 'Basic', username: 'quasimodo', password: secret };
  const read = await jobs.createOrUpdate(group, collection, 'j', { properties: { startTime: later, action } });
  read.properties.action.request.body = 'changed';
  await jobs.patch(group, collection, 'j', read);
  await jobs.run(group, collection, 'j');
  await settled(client, 'j', 1);
  assert.equal(received[0].body, 'changed');
  assert.equal(received[0].headers.authorization, `Basic ${Buffer.from(`quasimodo:${secret}`).toString('base64')}`);
});

test('a job whose retries fail, too, runs its error action and is faulted', async (t) => {
  const client = await connected();
  const { jobs } = client;
  const { url, received } = await target(t);
  const action = { ...call(`${url}/fail`), errorAction: call(`${url}/alarm`) };
  await jobs.createOrUpdate(group, collection, 'j', { properties: { action } });
  await history(client, 'j', [
    row('ErrorAction', undefined, 0, answered('OK')),
    row('MainAction', 'failed', 1, answered('InternalServerError')),
    row('MainAction', 'failed', 0, answered('InternalServerError')),
  ]);
  const { status } = await ended(client, 'j', 'faulted');
  assert.deepEqual([status.executionCount, status.failureCount, status.faultedCount], [1, 2, 1]);
  assert.deepEqual(received.map((request) => request.url), ['/fail', '/fail', '/alarm']);
  await assert.rejects(jobs.createOrUpdate(group, collection, 'j', { properties: { action } }),
    error(409, 'Conflict', "Job 'j' is faulted and can no longer be changed or run, only deleted."));
});

test('a recurring job goes on after a faulted occurrence', async () => {
  const client = await connected();
  const action = { ...call(`http://127.0.0.1:${await freePort()}/`), retryPolicy: { retryType: 'None' } };
  await client.jobs.createOrUpdate(group, collection, 'j', { properties: { action, recurrence: { frequency: 'Day' } } });
  const [{ properties: { expectedExecutionTime } }] = await history(client, 'j', [
    row('MainAction', 'failed', 0, "Http Action - Request to host '127.0.0.1' failed: ConnectFailure Unable to connect to the remote server"),
  ]);
  const { state, status } = await settled(client, 'j', 1);
  assert.deepEqual([state, status.failureCount, status.faultedCount], ['enabled', 1, 1]);
  same(status.nextExecutionTime, new Date(expectedExecutionTime.getTime() + 86_400_000));
});

test('a target that is too busy, and says until when, is asked again then', async (t) => {
  const client = await connected();
  const { url } = await target(t);
  await client.jobs.createOrUpdate(group, collection, 'j', { properties: { action: call(`${url}/busy`) } });
  await history(client, 'j', [
    row('MainAction', undefined, 1, answered('OK')),
    row('MainAction', 'postponed', 0, answered('TooManyRequests')),
  ]);
  assert.equal((await ended(client, 'j', 'completed')).status.executionCount, 1);
});

test('a series that has run as often as count says is completed', async (t) => {
  const client = await connected();
  const { url } = await target(t);
  await client.jobs.createOrUpdate(group, collection, 'j', {
    properties: { action: call(url), recurrence: { frequency: 'Minute', count: 1 } },
  });
  await history(client, 'j', [row('MainAction', undefined, 0, answered('OK'))]);
  const { status } = await ended(client, 'j', 'completed');
  assert.deepEqual([status.executionCount, status.nextExecutionTime], [1, undefined]);
});
