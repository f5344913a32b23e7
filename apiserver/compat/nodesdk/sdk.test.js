// Azure's own SDK for Node, as it was published, drives a running carillon
// through the whole life of collections and jobs. All tests share one carillon,
// which must end well, must not have logged a secret, and must have answered
// every request as every answer has to be.
'use strict';

const assert = require('node:assert/strict');
const { after, before } = require('node:test');
const { start } = require('./lib/server');
const { secret, server } = require('./lib/client');

let carillon;

before(async () => {
  carillon = await start();
  server.url = carillon.url;
});

after(async () => {
  if (!carillon) return;
  const { code, said } = await carillon.stop();
  assert.equal(code, 0, said);
  assert.ok(!said.includes(secret), 'carillon has logged a secret');
  assert.deepEqual(server.faults, []);
});

require('./spec/collections');
require('./spec/actions');
require('./spec/recurrences');
require('./spec/jobs');
require('./spec/history');
require('./spec/lists');
require('./spec/errors');
