// The console's page, by its script alone: on this machine, with a folder in front of the paths that it reads. What it does at
// the real screen and serial ports is in the other tests of this folder.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { until } from './until.ts';

const script = resolve('image/debian/files/usr/lib/cistern/console');

class Console {
  readonly root: string;
  private readonly child: ChildProcess;
  private text = '';

  constructor(t: TestContext, files: Record<string, string>, patience = 0) {
    this.root = resolve('out/vm/console', t.name.replaceAll(/\W+/g, '-'));
    rmSync(this.root, { recursive: true, force: true });
    this.write({ 'proc/sys/kernel/hostname': 'cistern-1\n', 'opt/cistern/version': '1.0\n', [webServer]: '' });
    this.write(files);
    // Each program that it starts leaves a line.
    this.program('ip', `cat ${this.root}/addresses 2>/dev/null; true`);
    this.program('qrencode', 'printf "QR %s\\n" "$*"');
    this.child = spawn('/bin/bash', [script], {
      env: {
        PATH: join(this.root, 'programs'),
        TZ: 'UTC',
        TERMINAL: 'ttyS0',
        CISTERN_CONSOLE_ROOT: this.root,
        CISTERN_CONSOLE_PATIENCE: String(patience),
        CISTERN_CONSOLE_ROUND: '0.1',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.child.stdout?.on('data', (data) => {
      this.text += data;
    });
    t.after(() => {
      this.child.kill();
      rmSync(this.root, { recursive: true, force: true });
    });
  }

  program(name: string, body: string, folder = 'programs'): void {
    this.write({
      [`${folder}/${name}`]: `#!/bin/sh\nPATH=/usr/bin:/bin\necho ${name} >>${this.root}/started\n${body}\n`,
    });
    chmodSync(join(this.root, folder, name), 0o755);
  }

  write(files: Record<string, string>): void {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.root, name)), { recursive: true });
      writeFileSync(join(this.root, name), content);
    }
  }

  started(): number {
    return readFileSync(join(this.root, 'started'), 'utf8').split('\n').length - 1;
  }

  /** The pages and answers so far. */
  shown(): string {
    return stripVTControlCharacters(this.text);
  }

  type(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  see(pattern: RegExp): Promise<RegExpExecArray> {
    return until(`the console shows ${pattern}`, 10, () => pattern.exec(this.shown()), 20).catch((error: Error) => {
      throw new Error(`${error.message}; it shows:\n${this.shown()}`);
    });
  }
}

const card = (name: string, carrier: string) => ({
  [`sys/class/net/${name}/device/x`]: '',
  [`sys/class/net/${name}/carrier`]: carrier,
  [`sys/class/net/${name}/address`]: '52:54:00:12:34:56\n',
});
const loopback = { 'sys/class/net/lo/carrier': '1\n', 'proc/net/fib_trie': '127.0.0.1\n' };
const webServer = 'sys/fs/cgroup/system.slice/nginx.service/cgroup.procs';
const address = '2: eth0    inet 10.0.2.15/24 brd 10.0.2.255 scope global dynamic eth0\n';

test('no network card', async (t) => {
  const console = new Console(t, loopback);
  const [text] = await console.see(/none: no network card was found[\s\S]*bundle/);
  t.diagnostic(text);
  assert.match(text, /give it a network adapter[\s\S]*this image has no driver for it/);
  assert.doesNotMatch(text, /q and Enter/, 'there is no address to show');
  console.type('q');
  await console.see(/There is no network address yet/);
});

test('a card without a cable, then with one, and no DHCP server, then an address', async (t) => {
  const console = new Console(t, { ...loopback, ...card('eth0', '0\n'), ...card('eth1', '') }, 2);
  await console.see(
    /no network cable is connected[\s\S]*eth0 \(MAC 52:54:00:12:34:56\), eth1 \(MAC 52:54:00:12:34:56\)/,
  );
  console.write(card('eth1', '1\n'));
  await console.see(/waiting for a network address \(DHCP, eth1\)/);
  const [late] = await console.see(
    /the cable at eth1 is connected, but no DHCP server\n *has answered since \d\d:\d\d/,
  );
  t.diagnostic(late);
  console.write({
    'proc/net/fib_trie': '127.0.0.1\n10.0.2.15\n',
    addresses: `2: eth1    inet6 fd00::1/64 scope global\n${address}`,
  });
  const [pages] = await console.see(/Web page {5}https:\/\/10\.0\.2\.15\/\n[\s\S]*/);
  assert.match(pages, /https:\/\/\[fd00::1\]\//);
  console.write({ 'proc/net/fib_trie': '127.0.0.1\n', addresses: '', ...card('eth1', '0\n') });
  await console.see(/10\.0\.2\.15[\s\S]*no network cable is connected/);
});

test('an address that is set by hand and does not come', async (t) => {
  const set = {
    'run/systemd/network/10-cistern-eth0.network': '[Network]\nDHCP=no\n\n[Address]\nAddress=192.0.2.7/24\n',
  };
  const console = new Console(t, { ...loopback, ...card('eth0', '1\n'), ...set });
  const [text] = await console.see(/none: eth0 has not got the address that is set for it[\s\S]*is taken back/);
  t.diagnostic(text);
  assert.doesNotMatch(text, /DHCP/);
});

test('right after the start nothing is said to be missing', async (t) => {
  const console = new Console(t, { ...loopback, ...card('eth0', '') }, 6);
  await console.see(/Web page {5}waiting for the network\n/);
  assert.doesNotMatch(console.shown(), /no network cable/);
  await console.see(/no network cable is connected/);
});

test('a round without a change starts no program and prints nothing', async (t) => {
  const console = new Console(t, { ...loopback, ...card('eth0', '1\n'), addresses: address });
  await console.see(/bundle/);
  const [programs, text] = [console.started(), console.shown()];
  assert.equal(programs, 1);
  await sleep(1000); // ten rounds
  assert.equal(console.started(), programs);
  assert.equal(console.shown(), text);
});

test('the web server starts, ends, and is there again', async (t) => {
  const console = new Console(t, { ...loopback, ...card('eth0', '1\n'), addresses: address }, 2);
  const unit = join(console.root, dirname(webServer));
  await console.see(/Web page {5}https:\/\/10\.0\.2\.15\/\n/);
  rmSync(unit, { recursive: true });
  await console.see(/https:\/\/10\.0\.2\.15\/ {2}\(starting\)\n/);
  const [text] = await console.see(/The web server is not running[\s\S]*bundle, to a USB disk/);
  t.diagnostic(text);
  assert.match(text, /make a support bundle \(b\)\.\n {2}Web page {5}https:\/\/10\.0\.2\.15\/\n/);
  console.write({ [webServer]: '' });
  await until('it is not missed any more', 10, () => {
    const last = console.shown().split('  Cistern  ').at(-1) ?? '';
    return /bundle, to/.test(last) && !/PROBLEM/.test(last);
  });
});

test('an administrator is let in: the command is told at which console, has the keyboard, and the page comes back', async (t) => {
  const console = new Console(t, { ...loopback, ...card('eth0', '1\n'), addresses: address });
  const pages = () => console.shown().split('  Cistern  ').length - 1;
  await console.see(/p and Enter: let an administrator in who lost password or second factor\n/);
  console.program('cistern', 'echo "asked: $*"; read -r name; echo "name: $name"', 'opt/cistern/bin');
  const before = pages();
  console.type('p');
  await console.see(/asked: let-in --console ttyS0\n/);
  console.type('ada');
  await console.see(/name: ada\n[\s\S]*bundle, to a USB disk/);
  assert.equal(pages(), before + 1);
  // When it cannot be asked, what it says stays until it was read.
  console.program('cistern', 'echo "cistern: no such thing"; exit 1', 'opt/cistern/bin');
  console.type('P');
  await console.see(/no such thing\n\n {2}Enter goes back\. $/);
  console.type('');
  await until('the page comes back', 10, () => pages() === before + 2);
});

test('what is wrong, what is live, and the picture for a phone', async (t) => {
  const console = new Console(t, {
    ...loopback,
    ...card('eth0', '1\n'),
    addresses: address,
    'run/cistern-boot-problem': 'The pool is gone.\nThere is little memory.\n',
    'run/cistern-live': 'sdb\n',
    'run/cistern-fingerprint': 'AA:BB\n',
    'var/lib/cistern/setup/code': 'AAAA-BBBB-CCCC\n',
    'run/cistern-install/.here': '',
    'proc/vmstat': 'nr_free 1\noom_kill 0\nx 1\n',
  });
  const [text] = await console.see(/[\s\S]*bundle[\s\S]*/);
  t.diagnostic(text);
  assert.match(text, /LIVE: started from sdb, and nothing is kept/);
  assert.match(text, /PROBLEM {6}The pool is gone\.\n {2}PROBLEM {6}There is little memory\.\n/);
  assert.match(text, /Certificate {2}SHA-256 AA:BB\n {2}Set-up code {2}AAAA-BBBB-CCCC\n/);
  assert.match(text, /i and Enter: install[\s\S]*k and Enter: keep everything on sdb itself/);
  console.type('q');
  await console.see(/QR .*-- https:\/\/10\.0\.2\.15\/setup#code=AAAA-BBBB-CCCC\n[\s\S]*SHA-256 AA:BB\n/);
  // The certificate is a picture of its own.
  console.type('f');
  await console.see(/QR .*-- SHA-256 AA:BB\n {2}The certificate: compare it/);
  console.type('');
  // Set-up is done, memory ran out, and it is a medium that has no room.
  rmSync(join(console.root, 'var/lib/cistern/setup/code'));
  console.write({ 'run/cistern-root/medium': 'sr0\n', 'proc/vmstat': 'nr_free 1\noom_kill 3\nx 1\n' });
  // The page may be made between two of these: then another one follows.
  await until('the page says all of it', 10, () => {
    const last = console.shown().split('  Cistern  ').at(-1) ?? '';
    return (
      /The memory was not enough: 3 programs were ended/.test(last) &&
      /bundle, to/.test(last) &&
      !/k and Enter|Set-up code/.test(last)
    );
  });
  console.type('q');
  await console.see(/-- https:\/\/10\.0\.2\.15\/\n/);
  console.type('');
  console.type('i');
  await until('the installer is asked for', 10, () =>
    readFileSync(join(console.root, 'run/cistern-install/ttyS0'), 'utf8').includes('install'),
  );
});
