'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const moment = require('moment');
const { group, collection, later, secret, connected, id, same, error } = require('../lib/client');

// Each action as it is answered: each word spelled as the live service spelled
// it, and without secrets; with what puts its secret in, and where that is.
const rows = [
  { name: 'http', answer: { type: 'Http', request: request() } },
  { name: 'https', answer: { type: 'Https', request: request() } },
  {
    name: 'basic',
    answer: { type: 'Https', request: request({ type: 'Basic', username: 'quasimodo' }) },
    secrets: (action) => { action.request.authentication.password = secret; },
    field: 'request.authentication.password',
  },
  {
    // fixture/bells.pfx was made once, by OpenSSL 3, and lasts until 2126:
    //   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
    //     -subj /C=BE/O=Belfry/OU=Tower/CN=bells -keyout key.pem -out cert.pem
    //   openssl pkcs12 -export -inkey key.pem -in cert.pem -passout pass:hush-3f9a41c7 -out bells.pfx
    //   openssl x509 -in cert.pem -noout -enddate -fingerprint -sha1
    // Its key opens nothing.
    name: 'certificate',
    answer: {
      type: 'Https',
      request: request({
        type: 'ClientCertificate', certificateThumbprint: 'CFE3C610531BB0AB373966435D7330999B0988A0',
        certificateExpirationDate: new Date('2126-10-28T06:46:13Z'), certificateSubjectName: 'CN=bells, OU=Tower, O=Belfry, C=BE',
      }),
    },
    secrets: (action) => {
      action.request.authentication.pfx = fs.readFileSync(path.join(__dirname, '..', 'fixture', 'bells.pfx'), 'base64');
      action.request.authentication.password = secret;
    },
    field: 'request.authentication.pfx',
  },
  {
    name: 'oauth',
    answer: {
      type: 'Https',
      request: request({ type: 'ActiveDirectoryOAuth', tenant: 'contoso.com', audience: 'https://bells.example', clientId: '5f3c' }),
    },
    secrets: (action) => { action.request.authentication.secret = secret; },
    field: 'request.authentication.secret',
  },
  {
    name: 'storage queue',
    answer: { type: 'StorageQueue', queueMessage: { storageAccount: 'belfry', queueName: 'bells', message: '<ring> & "ring"' } },
    secrets: (action) => { action.queueMessage.sasToken = `?sv=2015-04-05&sig=${secret}`; },
    field: 'queueMessage.sasToken',
  },
  {
    name: 'service bus queue',
    answer: {
      type: 'ServiceBusQueue',
      serviceBusQueueMessage: {
        queueName: 'bells', namespace: 'belfry', transportType: 'amqp', message: 'ring',
        authentication: { type: 'sharedAccessKey', sasKeyName: 'send' },
        brokeredMessageProperties: brokered(), customMessageProperties: { tone: 'c', Tone: 'C' },
      },
    },
    secrets: (action) => { action.serviceBusQueueMessage.authentication.sasKey = secret; },
    field: 'serviceBusQueueMessage.authentication.sasKey',
  },
  {
    name: 'service bus topic',
    answer: {
      type: 'ServiceBusTopic',
      serviceBusTopicMessage: {
        topicPath: 'bells/large', namespace: 'belfry', transportType: 'netMessaging', message: 'ring',
        authentication: { type: 'sharedAccessKey', sasKeyName: 'send' },
        brokeredMessageProperties: brokered(),
      },
    },
    secrets: (action) => { action.serviceBusTopicMessage.authentication.sasKey = secret; },
    field: 'serviceBusTopicMessage.authentication.sasKey',
  },
];

function request(authentication) {
  return {
    uri: 'https://bells.example/Ring%20It?how=<loud>&n=1', method: 'pOsT', body: 'ding\n<dong> é',
    headers: { 'content-type': 'text/plain', 'X-Tower': 'north' }, authentication,
  };
}

function brokered() {
  return {
    contentType: 'text/plain', correlationId: 'c', forcePersistence: true, label: 'l', messageId: 'm', partitionKey: 's', replyTo: 'r',
    replyToSessionId: 'rs', sessionId: 's', to: 't', viaPartitionKey: 'v',
    scheduledEnqueueTimeUtc: new Date('2030-01-02T03:04:05Z'), timeToLive: moment.duration({ days: 1, hours: 2, minutes: 30 }),
  };
}

// An action with its secrets, and with itself as its error action.
function completed(action, { secrets = () => {} }) {
  const { errorAction, ...main } = action;
  const full = { ...copied(main), errorAction: copied(errorAction ?? main) };
  secrets(full);
  secrets(full.errorAction);
  return full;
}

// copied copies what holds no secret yet; spans stay the SDK's.
function copied(value) {
  if (typeof value !== 'object' || value === null || value instanceof Date || moment.isDuration(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copied(member)]));
}

for (const row of rows) {
  test(`action and error action: ${row.name}`, async (t) => {
    const client = await connected();
    const { jobs } = client;
    const put = (action) =>
      jobs.createOrUpdateWithHttpOperationResponse(group, collection, 'j', { properties: { startTime: later, action } });
    const want = {
      id: id(client, collection, 'jobs', 'j'), type: 'Microsoft.Scheduler/jobCollections/jobs', name: 'jc/j',
      properties: {
        startTime: later, action: { ...row.answer, errorAction: row.answer }, state: 'enabled',
        status: { nextExecutionTime: later, executionCount: 0, failureCount: 0, faultedCount: 0 },
      },
    };
    const created = await put(completed(row.answer, row));
    assert.equal(created.response.statusCode, 201);
    await t.test('is answered without secrets', () => same(created.body, want));
    const read = await jobs.get(group, collection, 'j');
    await t.test('is read so', () => same(read, want));

    await t.test('goes in again with its secrets', async () => {
      const again = await put(completed(read.properties.action, row));
      assert.equal(again.response.statusCode, 200);
      same(again.body, want);
    });
    await t.test('keeps its secrets under PATCH', async () => same(await jobs.patch(group, collection, 'j', read), want));
    if (row.secrets) {
      await t.test('is refused by PUT without them', () => assert.rejects(put(read.properties.action),
        error(400, 'BadRequest', `action.${row.field} must be given: answers leave secrets out`)));
    }
  });
}

test('retry policies', async (t) => {
  const { jobs } = await connected();
  const minute = moment.duration(1, 'minute');
  const days = moment.duration({ days: 30, hours: 12 });
  for (const [name, put, want] of [
    ['the default is not answered', undefined, undefined],
    ['none', { retryType: 'None' }, { retryType: 'none' }],
    ['fixed', { retryType: 'Fixed', retryInterval: minute, retryCount: 2 }, { retryType: 'fixed', retryInterval: minute, retryCount: 2 }],
    ['fixed alone', { retryType: 'Fixed' }, { retryType: 'fixed' }],
    ['no retry after all', { retryType: 'Fixed', retryCount: 0 }, { retryType: 'fixed', retryCount: 0 }],
    ['days', { retryType: 'Fixed', retryInterval: days }, { retryType: 'fixed', retryInterval: days }],
    ['18 months', { retryType: 'Fixed', retryInterval: moment.duration(18, 'months') }, { retryType: 'fixed', retryInterval: moment.duration(545, 'days') }],
  ]) {
    const main = { type: 'Https', request: request(), retryPolicy: put };
    const { properties } = await jobs.createOrUpdate(group, collection, 'j', {
      properties: { startTime: later, action: { ...main, errorAction: main } },
    });
    await t.test(name, () => {
      same(properties.action.retryPolicy, want);
      same(properties.action.errorAction.retryPolicy, want);
    });
  }
});
