// The SDK's client, and what the tests need around it.
'use strict';

const assert = require('node:assert/strict');
const SchedulerManagementClient = require('azure-arm-scheduler');
const { TokenCredentials } = require('ms-rest');
const { eventually } = require('./server');

// Part of every secret that the tests send. No answer may hold it, and no log.
const secret = 'hush-3f9a41c7';

// Names that most tests use, each in a subscription of its own.
const group = 'rg';
const collection = 'jc';

// Where the carillon of all tests is reached, and what its answers did wrong.
const server = { url: '', faults: [] };

let subscriptions = 0;

// A client for a subscription in which there is nothing.
function connect() {
  const id = `0ddba115-0000-4000-8000-${String(++subscriptions).padStart(12, '0')}`;
  return new SchedulerManagementClient(new TokenCredentials('any'), id, server.url, { filters: [witness] });
}

// The same with a collection to put jobs into.
async function connected(properties = {}) {
  const client = connect();
  await client.jobCollections.createOrUpdate(group, collection, { location: 'West Europe', properties });
  return client;
}

// A filter of the SDK's pipeline that sees each answer as it comes.
function witness(request, next, callback) {
  return next(request, (err, response, body) => {
    if (response) {
      const id = response.headers['x-ms-request-id'];
      const rules = {
        'no secret': !(body || '').includes(secret),
        'x-ms-request-id is a GUID': /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(id),
        'x-ms-client-request-id is echoed': response.headers['x-ms-client-request-id'] === request.headers['x-ms-client-request-id'],
        'JSON is called so': !body || response.headers['content-type'] === 'application/json; charset=utf-8',
        'nothing is asynchronous': !response.headers.location && !response.headers['azure-asyncoperation'],
      };
      for (const [rule, ok] of Object.entries(rules)) {
        if (!ok) server.faults.push(`${request.method} ${request.url}: not so: ${rule}; ${JSON.stringify(response.headers)} ${body}`);
      }
    }
    callback(err, response, body);
  });
}

// The path of a resource in a client's subscription.
const id = (client, ...parts) =>
  `/subscriptions/${client.subscriptionId}/resourceGroups/${group}/providers/Microsoft.Scheduler/jobCollections/${parts.join('/')}`;

// Compares models of the SDK: times and spans as ISO 8601, without what is
// undefined.
function same(got, want) {
  assert.deepEqual(plain(got), plain(want));
}

const plain = (value) => value === undefined ? undefined : JSON.parse(JSON.stringify(value));

// Lists all, on however many pages, and says how many each of them had.
async function all(first, next) {
  const items = [];
  const sizes = [];
  for (let page = await first; ; page = await next(page.nextLink)) {
    items.push(...page);
    sizes.push(page.length);
    if (!page.nextLink) return { items, sizes };
  }
}

// Says of an error that the SDK makes what it must be.
const error = (statusCode, code, message) => (err) => {
  assert.ok(err instanceof Error);
  assert.deepEqual(
    { statusCode: err.statusCode, code: err.code, message: err.message, body: plain(err.body) },
    { statusCode, code, message, body: { code, message } },
  );
  return true;
};

// An action that calls a URI and is retried once, after a second.
const call = (uri) => ({
  type: 'Http',
  request: { uri, method: 'POST' },
  retryPolicy: { retryType: 'Fixed', retryInterval: seconds(1), retryCount: 1 },
});

const seconds = (n) => require('moment').duration(n, 'seconds');

// When jobs start that are not to run in a test.
const later = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000 + 2 * 86_400_000);

// Waits until a job has executed so many occurrences, and returns its properties.
const settled = (client, name, executions) => eventually(async () => {
  const { properties } = await client.jobs.get(group, collection, name);
  assert.equal(properties.status?.executionCount, executions);
  return properties;
});

// Waits until a job is in a final state, and returns its properties.
const ended = (client, name, state) => eventually(async () => {
  const { properties } = await client.jobs.get(group, collection, name);
  assert.equal(properties.state, state);
  return properties;
});

module.exports = { server, secret, group, collection, later, connect, connected, id, same, all, error, call, seconds, settled, ended };
