// A server that jobs call.
'use strict';

const { once } = require('node:events');
const http = require('node:http');

// Starts a target for the time of a test. It answers 500 at /fail, 429 to the
// first request if that is for /busy, and 200 to all others; and keeps them all
// in received.
async function target(t) {
  const received = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method, url, headers } = request;
    received.push({ method, url, headers, body });
    if (url === '/fail') response.statusCode = 500;
    if (url === '/busy' && received.length === 1) {
      response.statusCode = 429;
      response.setHeader('Retry-After', '1');
    }
    response.end('bong');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, received };
}

module.exports = { target };
