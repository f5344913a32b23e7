// A Service Bus for tests on rhea, an AMQP implementation that is not Go's:
//
//   node peer.js KEYNAME KEY [CERTIFICATE.pem KEY.pem]
//
// Listens on free ports of 127.0.0.1, prints {"amqp": port, "http": port}, and
// ends when its standard input does. An entity is named after its mood:
// refusing (there is none), hanging, breaking, busy; all others take everything.
// GET /state says what was accepted and how many connections were made;
// POST /drop closes all connections, POST /detach all links of senders.
'use strict';
const crypto = require('crypto');
const fs = require('fs');
const http = require('http');
const rhea = require('rhea');

const [keyName, key, certificate, certificateKey] = process.argv.slice(2);
const container = rhea.create_container({ id: 'peer' });
const connections = new Map(); // open ones, with the audiences that they proved, by path
const messages = [];
let made = 0;

// authorize checks a shared access signature and returns the path it is for, or
// null.
function authorize(audience, token) {
  const match = /^SharedAccessSignature sr=([^&]*)&sig=([^&]*)&se=(\d+)&skn=(.*)$/.exec(token);
  if (!match) return null;
  const [, resource, signature, expiry, name] = match;
  const wanted = crypto.createHmac('sha256', key).update(`${resource}\n${expiry}`).digest('base64');
  const right = name === keyName && decodeURIComponent(signature) === wanted && expiry * 1000 > Date.now() &&
    decodeURIComponent(resource) === audience.toLowerCase();
  return right ? audience.replace(/^\w+:\/\/[^/]*\//, '') : null;
}

// mirror answers a link with the settlement modes that it was asked for.
function mirror(link) {
  link.local.attach.snd_settle_mode = link.remote.attach.snd_settle_mode;
  link.local.attach.rcv_settle_mode = link.remote.attach.rcv_settle_mode;
}

function refused({ connection }, address) {
  if (address === '$cbs') return null;
  if (!connections.get(connection).has(address)) return { condition: 'amqp:unauthorized-access', description: 'no token' };
  if (address.startsWith('refusing')) return { condition: 'amqp:not-found', description: 'no such entity' };
  return null;
}

container.on('connection_open', ({ connection }) => {
  made++;
  connection.socket.setNoDelay(true);
  connections.set(connection, new Map());
});
container.on('disconnected', ({ connection }) => connections.delete(connection));
container.on('connection_close', ({ connection }) => connections.delete(connection));
for (const event of ['connection_error', 'session_error', 'sender_error', 'receiver_error', 'protocol_error', 'error']) {
  container.on(event, () => {}); // a client that is gone is no fault of ours
}

container.on('sender_open', context => { // the client receives
  const { sender, connection } = context;
  const { address } = sender.remote.attach.source;
  mirror(sender);
  const error = refused(context, address);
  if (error) return sender.close(error);
  sender.set_source({ address });
  if (address === '$cbs') connection.cbs = sender;
});

container.on('receiver_open', context => { // the client sends
  const { receiver } = context;
  const { address } = receiver.remote.attach.target;
  mirror(receiver);
  const error = refused(context, address);
  if (error) return receiver.close(error);
  receiver.local.attach.max_message_size = 256 * 1024;
  receiver.set_target({ address });
});

container.on('message', ({ receiver, connection, delivery, message }) => {
  const { address } = receiver.target;
  const audiences = connections.get(connection);
  if (address === '$cbs') {
    const { name, type } = message.application_properties;
    const path = type === 'servicebus.windows.net:sastoken' ? authorize(name, message.body) : null;
    if (path !== null) audiences.set(path, name);
    delivery.accept();
    connection.cbs.send({
      correlation_id: message.message_id,
      to: message.reply_to,
      application_properties: {
        'status-code': rhea.types.wrap_int(path === null ? 401 : 202),
        'status-description': path === null ? `not valid: ${message.body}` : 'Accepted',
      },
    });
    return;
  }
  switch (address) {
    case 'hanging': return;
    case 'breaking': connection.socket.destroy(); return;
    case 'busy': delivery.reject({ condition: 'com.microsoft:server-busy', description: 'later' }); return;
  }
  messages.push({ entity: address, host: connection.remote.open.hostname, audience: audiences.get(address), message: message });
  delivery.accept();
});

// asSeen writes a message for the test, under the names of AMQP.
function asSeen({ entity, host, audience, message }) {
  const sections = Array.isArray(message.body) ? message.body : [message.body];
  return {
    ...message,
    entity, host, audience,
    body: Buffer.concat(sections.map(section => section.content)).toString('base64'),
    data: sections.filter(section => section.typecode === 0x75).length,
  };
}

const control = http.createServer((request, response) => {
  switch (`${request.method} ${request.url}`) {
    case 'GET /state':
      response.end(JSON.stringify({ messages: messages.map(asSeen), made, open: connections.size }));
      return;
    case 'POST /drop':
      for (const connection of connections.keys()) connection.socket.destroy();
      break;
    case 'POST /detach':
      for (const connection of connections.keys()) {
        connection.each_receiver(receiver => receiver.close({ condition: 'amqp:link:detach-forced', description: 'idle' }));
      }
      break;
    default:
      response.statusCode = 404;
  }
  response.end();
});

const options = { host: '127.0.0.1', port: 0, receiver_options: { autoaccept: false } };
if (certificate) {
  Object.assign(options, { transport: 'tls', cert: fs.readFileSync(certificate), key: fs.readFileSync(certificateKey) });
}
const amqp = container.listen(options);
amqp.on('tlsClientError', () => {});
amqp.on('listening', () => control.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ amqp: amqp.address().port, http: control.address().port }));
}));
process.stdin.resume().on('end', () => process.exit());
