// A carillon that runs beside the tests.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

// Starts carillon and waits until it is ready. It ends with stop(), which
// returns its exit code and all that it has said, or with this process, however
// that comes about: a shell between them sees its input end. The program is
// built from the repository that this file stands in, unless CARILLON_BINARY
// names one.
async function start() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-nodesdk-'));
  let binary = process.env.CARILLON_BINARY;
  if (!binary) {
    binary = path.join(dir, 'carillon');
    execFileSync('go', ['build', '-o', binary, '.'], { cwd: path.join(__dirname, '..', '..', '..', '..'), stdio: 'inherit' });
  }
  const address = `127.0.0.1:${await freePort()}`;
  const logFile = path.join(dir, 'log');
  const log = fs.openSync(logFile, 'w');
  const keeper = '"$0" "$@" & cat >/dev/null; kill -TERM $! 2>/dev/null; wait $!';
  const shell = spawn('sh', ['-c', keeper, binary, 'dev', '--data', path.join(dir, 'data'), '--listen', address], {
    stdio: ['pipe', log, log],
  });
  fs.closeSync(log);
  const ended = once(shell, 'exit');
  const stop = async () => {
    shell.stdin.end();
    const [code] = await ended;
    const said = fs.readFileSync(logFile, 'utf8');
    fs.rmSync(dir, { recursive: true });
    return { code, said };
  };
  const url = `http://${address}`;
  try {
    await eventually(async () => {
      const { status } = await fetch(`${url}/readyz`);
      if (status !== 200) throw new Error(`carillon does not get ready: status ${status}`);
    });
  } catch (err) {
    const { said } = await stop();
    throw new Error(`${err.message}\ncarillon said:\n${said}`);
  }
  return { url, stop };
}

async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

// Waits until check does not throw, and returns what it returns.
async function eventually(check) {
  const deadline = Date.now() + 30_000;
  for (;;) {
    try {
      return await check();
    } catch (err) {
      if (Date.now() > deadline) throw err;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

module.exports = { start, freePort, eventually };
