// A virtual appliance: the built image under QEMU with data disks, driven by its serial console, ssh and QMP.
//
// ssh is off in the image. A test switches it on the way a hypervisor's owner can, by systemd credentials in the
// machine's firmware tables, with a key made for this run; nothing of it is in the image.
//
// One boot serves many tests: `save` writes the memory beside the disks and ends the machine, and `Machine.restore`
// starts another process from that memory on overlays of those disks, so that the saved machine never changes.
import { type ChildProcess, execFile, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { freePort, freePorts } from '../ports.ts';
import { noteSlow } from '../stack/slow.ts';
import { firmware, kvmWorks, qemuImg, spawnQemu } from './qemu.ts';
import { until } from './until.ts';

export interface Ports {
  ssh: number;
  https: number;
  http: number;
  statsd: number;
  replication: number;
  snmp: number;
}

/** What a machine is made of, where it matters to what starts on it. */
export interface Hardware {
  firmware: 'uefi' | 'uefi-secure' | 'bios';
  /** What the system disk hangs on. */
  bus: keyof typeof buses;
  /** The network card. */
  network: (typeof cards)[number];
  /** MiB of memory; 2048 when left out. */
  memory?: number;
  /**
   * When left out: two with hardware virtualisation, else one. Emulated ones wait for each other's locks: up to its page
   * a machine with two took 76 s of the host's processor, with one 61.
   */
  processors?: number;
  /** A screen, a keyboard at USB (and no keyboard port), and a second serial port. */
  screen?: boolean;
  /** The cable is connected, and nobody answers on it. There is no ssh then. */
  silent?: boolean;
}

/** A QEMU device for the system disk, after what it hangs on. */
export const buses = {
  'virtio-scsi': ['scsi-hd,bus=scsi0.0'],
  'virtio-blk': ['virtio-blk-pci'],
  ahci: ['ide-hd,bus=ide.0'],
  nvme: ['nvme'],
  megasas: ['megasas,id=hba', 'scsi-hd,bus=hba.0'],
  lsi: ['lsi53c895a,id=hba', 'scsi-hd,bus=hba.0'],
  pvscsi: ['pvscsi,id=hba', 'scsi-hd,bus=hba.0'],
  usb: ['qemu-xhci,id=xhci', 'usb-storage,bus=xhci.0'],
} as const;

export const cards = ['virtio-net-pci', 'e1000', 'e1000e', 'igb', 'vmxnet3', 'rtl8139'] as const;

export const usual: Hardware = { firmware: 'uefi', bus: 'virtio-scsi', network: 'virtio-net-pci' };

export interface DiskOptions {
  serial: string;
  bytes: string; // as qemu-img takes it: 2G
  /** As a stick is. */
  removable?: boolean;
}

/**
 * The processor that is emulated without hardware virtualisation. As an Intel one of that age the kernel would protect
 * itself from Meltdown and change the page tables at each system call, which an emulator answers by forgetting all of its
 * translations of addresses: a boot took 98 s of the host's processor instead of 69, a system call 5 times as long.
 */
const EMULATED = 'Nehalem,vendor=AuthenticAMD,family=16,model=8';

/** The memory of a saved machine, beside its disks. */
const MEMORY = 'memory';
/**
 * What the guest's kernel says when an emulated processor has no timer after a reset, which QEMU without hardware virtualisation
 * does now and then under load. The guest gets no further.
 */
const WITHOUT_TIMER = /Possible timer handling issue on cpu=/;

export const fourDisks: DiskOptions[] = [0, 1, 2, 3].map((n) => ({ serial: `DATA${n}`, bytes: '2G' }));
/** The name that the appliance knows a disk by. */
export const byId = (serial: string) => `scsi-0QEMU_QEMU_HARDDISK_${serial}`;

export class Machine {
  readonly dir: string;
  readonly disks: DiskOptions[];
  ports!: Ports;
  accelerated = false;
  private readonly hardware: Hardware;
  /** More arguments for QEMU. */
  private readonly devices: readonly string[];
  private process: ChildProcess | undefined;
  private qmpSocket: net.Socket | undefined;
  /** How long the console was when the machine was reset last. */
  #resetAt = 0;
  private qmpAnswers: ((answer: { return?: unknown; error?: { desc: string } }) => void)[] = [];

  private constructor(dir: string, disks: DiskOptions[], hardware = usual, devices: readonly string[] = []) {
    this.dir = dir;
    this.devices = devices;
    this.disks = disks;
    this.hardware = hardware;
  }

  /** A new machine in `dir` whose system disk is an overlay of `image` (qcow2), as large as `systemDisk`. */
  static async create(
    dir: string,
    image: string,
    options: {
      disks?: DiskOptions[];
      systemDisk?: string;
      hardware?: Hardware;
      /** More arguments for QEMU. */
      devices?: readonly string[];
    } = {},
  ): Promise<Machine> {
    mkdirSync(dir, { recursive: true });
    const machine = new Machine(dir, [...(options.disks ?? fourDisks)], options.hardware, options.devices);
    qemuImg(
      'create',
      '-q',
      '-f',
      'qcow2',
      '-b',
      image,
      '-F',
      'qcow2',
      join(dir, 'system.qcow2'),
      options.systemDisk ?? '16G',
    );
    const secure = machine.hardware.firmware === 'uefi-secure';
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', firmware('VARS', secure), join(dir, 'vars.qcow2'));
    for (const disk of machine.disks)
      qemuImg('create', '-q', '-f', 'qcow2', join(dir, `${disk.serial}.qcow2`), disk.bytes);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, 'key')]);
    return machine;
  }

  /** Another machine in `dir`, as the one was that `save` has left in `saved`: the same memory, on overlays of its disks. */
  static async restore(saved: string, disks: DiskOptions[], dir: string): Promise<Machine> {
    if (!existsSync(join(saved, MEMORY))) throw new Error(`there is no saved machine in ${saved}`);
    mkdirSync(dir, { recursive: true });
    const machine = new Machine(dir, [...disks]);
    for (const name of ['system', 'vars', ...disks.map(({ serial }) => serial)]) {
      const base = join(relative(dir, saved), `${name}.qcow2`); // qcow2 finds its base from where it lies itself
      qemuImg('create', '-q', '-f', 'qcow2', '-b', base, '-F', 'qcow2', join(dir, `${name}.qcow2`));
    }
    for (const file of ['key', 'key.pub']) copyFileSync(join(saved, file), join(dir, file));
    try {
      await machine.start({ memory: join(saved, MEMORY) });
      await machine.waitForSsh(120);
      // The guest wakes up in the past, and its copies would all draw the same random numbers.
      await machine.sh(
        `date -s @${(Date.now() / 1000).toFixed(3)} >/dev/null; echo ${randomBytes(64).toString('hex')} >/dev/urandom`,
      );
    } catch (error) {
      await machine.kill();
      throw new Error(`the machine saved in ${saved} cannot be restored`, { cause: error });
    }
    return machine;
  }

  /** The machine that was made in `dir` earlier. */
  static open(dir: string, hardware = usual): Machine {
    return new Machine(dir, [...fourDisks], hardware);
  }

  get running(): boolean {
    return this.process !== undefined;
  }

  /**
   * Switches on. `bootFrom`: the system disk is not plugged in, and this one is started from. `firmware`: instead of the
   * machine's own. `medium`: the system disk is not plugged in, and this ISO lies in the CD drive, or is on a stick.
   * `memory`: it does not boot, but goes on from this file. `card`: whether it has its network card.
   */
  async start({
    bootFrom = 'SYSTEM',
    firmware: by = this.hardware.firmware,
    medium,
    mediumOn = 'cd',
    memory,
    card = true,
  }: {
    bootFrom?: string;
    firmware?: Hardware['firmware'];
    medium?: string;
    mediumOn?: 'cd' | 'stick';
    memory?: string;
    card?: boolean;
  } = {}): Promise<void> {
    this.accelerated = await kvmWorks();
    const ports = (await freePorts(6)) as [number, number, number, number, number, number];
    const [ssh, https, http, statsd, replication, snmp] = ports;
    this.ports = { ssh, https, http, statsd, replication, snmp };
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const credential = (name: string, text: string) => [
      '-smbios',
      `type=11,value=io.systemd.credential.binary:${name}=${base64(text)}`,
    ];
    const { screen, silent } = this.hardware;
    const stick = medium && mediumOn === 'stick';
    const own = bootFrom === 'SYSTEM' && !medium;
    const controllers = own ? [...buses[this.hardware.bus].slice(0, -1)] : [];
    if ((stick || screen) && !controllers.some((one) => one.includes('xhci'))) controllers.push('qemu-xhci,id=xhci');
    const disk = buses[this.hardware.bus].at(-1);
    const args = [
      ...(this.accelerated ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=multi', '-cpu', EMULATED]),
      // Only code in system management mode may then write the firmware's variables past its checks.
      ...['-machine', `q35${screen ? ',i8042=off' : ''}${by === 'uefi-secure' ? ',smm=on' : ''}`],
      ...['-smp', String(this.hardware.processors ?? (this.accelerated ? 2 : 1))],
      ...['-m', String(this.hardware.memory ?? 2048), '-display', 'none', '-nodefaults', '-no-user-config'],
      ...(by === 'uefi-secure' ? ['-global', 'driver=cfi.pflash01,property=secure,value=on'] : []),
      ...(by !== 'bios'
        ? [
            ...['-drive', `if=pflash,format=raw,readonly=on,file=${firmware('CODE', by === 'uefi-secure')}`],
            ...['-drive', `if=pflash,format=qcow2,file=${join(this.dir, 'vars.qcow2')}`],
          ]
        : []), // without it QEMU starts SeaBIOS
      ...['-device', 'virtio-scsi-pci,id=scsi0'],
      ...(medium && !stick
        ? [
            ...['-drive', `if=none,id=medium,media=cdrom,readonly=on,format=raw,file=${medium}`],
            ...['-device', 'ide-cd,bus=ide.1,drive=medium,bootindex=0'],
          ]
        : []),
      ...(own ? ['-drive', `if=none,id=system,file=${join(this.dir, 'system.qcow2')},format=qcow2,discard=unmap`] : []),
      ...controllers.flatMap((one) => ['-device', one]),
      ...(own ? ['-device', `${disk},drive=system,serial=SYSTEM,bootindex=0`] : []),
      // Nothing that is written to it stays.
      ...(stick
        ? [
            ...['-drive', `if=none,id=medium,format=raw,snapshot=on,file=${medium}`],
            ...['-device', 'usb-storage,bus=xhci.0,drive=medium,serial=STICK,removable=on,bootindex=0'],
          ]
        : []),
      ...(screen ? ['-device', 'VGA', '-device', 'usb-kbd,bus=xhci.0'] : []),
      ...this.disks.flatMap(({ serial, removable }) => [
        '-drive',
        `if=none,id=${serial},file=${join(this.dir, `${serial}.qcow2`)},format=qcow2,discard=unmap`,
        '-device',
        `scsi-hd,bus=scsi0.0,drive=${serial},serial=${serial},id=disk-${serial}${serial === bootFrom ? ',bootindex=0' : ''}${removable ? ',removable=on' : ''}`,
      ]),
      ...[
        '-netdev',
        silent
          ? 'hubport,id=net0,hubid=0'
          : `user,id=net0,hostfwd=tcp:127.0.0.1:${ssh}-:22,hostfwd=tcp:127.0.0.1:${https}-:443,hostfwd=tcp:127.0.0.1:${http}-:80,hostfwd=tcp:127.0.0.1:${statsd}-:8125,hostfwd=udp:127.0.0.1:${statsd}-:8125,hostfwd=tcp:127.0.0.1:${replication}-:8022,hostfwd=udp:127.0.0.1:${snmp}-:161`,
      ],
      // Without the card's own program, by which a machine could be started from the network.
      ...(card ? ['-device', `${this.hardware.network},netdev=net0,romfile=`] : []),
      ...['-device', 'virtio-rng-pci'],
      ...credential('ssh.authorized_keys.root', readFileSync(join(this.dir, 'key.pub'), 'utf8')),
      ...credential('systemd.unit-dropin.multi-user.target', '[Unit]\nWants=ssh.service\n'),
      ...[
        '-chardev',
        `socket,id=console,path=${join(this.dir, 'console')},server=on,wait=off,logfile=${join(this.dir, 'console.log')}`,
        '-serial',
        'chardev:console',
        ...(screen
          ? [
              '-chardev',
              `socket,id=second,path=${join(this.dir, 'second')},server=on,wait=off,logfile=${join(this.dir, 'second.log')}`,
              '-serial',
              'chardev:second',
            ]
          : []),
        '-qmp',
        `unix:${join(this.dir, 'qmp')},server=on,wait=off`,
      ],
      ...this.devices,
      ...(memory ? ['-incoming', `exec:cat '${memory}'`] : []),
    ];
    rmSync(join(this.dir, 'qmp'), { force: true });
    const log = openSync(join(this.dir, 'qemu.log'), 'a');
    const child = spawnQemu(args, log);
    closeSync(log);
    this.process = child;
    child.on('exit', () => {
      if (this.process === child) this.process = undefined;
    });
    await until(
      'QEMU answers',
      20,
      () => {
        if (child.exitCode !== null)
          throw new Error(`QEMU ended: ${readFileSync(join(this.dir, 'qemu.log'), 'utf8').slice(-500)}`);
        return this.connectQmp();
      },
      100,
    );
    if (!memory) return;
    await this.migrated('the memory is read');
    await this.qmp('cont');
  }

  /** Waits for the end of a migration, which is what QEMU calls writing or reading the memory. */
  private async migrated(what: string): Promise<void> {
    const end = await until(
      what,
      300,
      async () => {
        const now = (await this.qmp('query-migrate')) as Record<string, string>;
        return ['completed', 'failed'].includes(now.status ?? '') && now;
      },
      100,
    );
    if (end.status === 'failed') throw new Error(`${what}: QEMU could not: ${end['error-desc']}`);
  }

  private async connectQmp(): Promise<boolean> {
    const path = join(this.dir, 'qmp');
    if (!existsSync(path)) return false;
    const socket = net.connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.on('error', () => {});
    let text = '';
    socket.on('data', (data) => {
      text += data;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const message = JSON.parse(text.slice(0, end));
        text = text.slice(end + 1);
        if ('return' in message || 'error' in message) this.qmpAnswers.shift()?.(message);
      }
    });
    this.qmpSocket = socket;
    await this.qmp('qmp_capabilities');
    return true;
  }

  /** One command of the QEMU monitor protocol. */
  async qmp(execute: string, args?: object): Promise<unknown> {
    const socket = this.qmpSocket;
    if (!socket) throw new Error('the machine is not running');
    const answer = new Promise<{ return?: unknown; error?: { desc: string } }>((resolve) =>
      this.qmpAnswers.push(resolve),
    );
    socket.write(`${JSON.stringify({ execute, arguments: args })}\n`);
    const { return: value, error } = await answer;
    if (error) throw new Error(`${execute}: ${error.desc}`);
    return value;
  }

  /** What the console has shown, without its colours; `second`: the second serial port. */
  console(which: 'console' | 'second' = 'console'): string {
    const log = join(this.dir, `${which}.log`);
    return existsSync(log) ? stripVTControlCharacters(readFileSync(log, 'utf8')).replaceAll('\r', '') : '';
  }

  /** Presses keys of the keyboard, one after the other, by QEMU's names: `b`, `ret`. */
  async press(...keys: string[]): Promise<void> {
    for (const data of keys) {
      await this.qmp('send-key', { keys: [{ type: 'qcode', data }] });
      await sleep(300); // each is held for 100 ms
    }
  }

  /** A picture of the screen. */
  async picture(file: string): Promise<void> {
    await this.qmp('screendump', { filename: file, format: 'png' });
  }

  /** Types at the console; `second`: at the second serial port. */
  async type(text: string, which: 'console' | 'second' = 'console'): Promise<void> {
    const socket = net.connect(join(this.dir, which));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.resume();
    await new Promise<void>((resolve) => socket.write(text, () => resolve()));
    // Closed at once, what was typed might not have been read.
    await new Promise((resolve) => setTimeout(resolve, 500));
    socket.destroy();
  }

  /** Pulls the network cable, or plugs it in. */
  async link(up: boolean): Promise<void> {
    await this.qmp('set_link', { name: 'net0', up });
  }

  get url(): string {
    return `https://localhost:${this.ports.https}`;
  }

  private sshArgs(): string[] {
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'LogLevel=ERROR',
      'ConnectTimeout=20',
      'ControlMaster=auto',
      // Not in the machine's folder: the name of a socket must be short. The port is this machine's alone.
      `ControlPath=${join(tmpdir(), `cistern-ssh-${this.ports.ssh}`)}`,
      'ControlPersist=60',
    ];
    return [
      '-i',
      join(this.dir, 'key'),
      '-p',
      String(this.ports.ssh),
      ...options.flatMap((o) => ['-o', o]),
      'root@127.0.0.1',
    ];
  }

  /** Runs a command in the guest as root and answers with its output; throws with what it said when it fails. */
  async ssh(...command: string[]): Promise<string> {
    const began = Date.now();
    const quoted = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    return new Promise((resolve, reject) => {
      execFile(
        'ssh',
        [...this.sshArgs(), quoted],
        // What takes long takes three times as long on a host that is busy: a bundle of a suspended pool took two minutes.
        { timeout: 400_000, maxBuffer: 64 << 20 },
        (error, stdout, stderr) => {
          noteSlow(`in the guest, ${command.join(' ')}`, began);
          if (error) reject(new Error(`in the guest, ${command.join(' ')}: ${stderr || error.message}`));
          else resolve(stdout);
        },
      );
    });
  }

  /** A line of shell in the guest, for tests that look at several things at once. */
  sh(line: string): Promise<string> {
    return this.ssh('sh', '-c', line);
  }

  async waitForSsh(seconds: number): Promise<void> {
    let resets = 0;
    await until('the guest answers on ssh', seconds, async () => {
      if (!this.process)
        throw new Error(`QEMU has ended: ${readFileSync(join(this.dir, 'qemu.log'), 'utf8').slice(-500)}`);
      if (resets < 2 && WITHOUT_TIMER.test(this.console().slice(this.#resetAt))) {
        resets++;
        console.error(
          '--- a processor of the emulated machine came out of the reset without its timer: it is reset once more',
        );
        await this.reset();
      }
      return (await this.ssh('echo', 'here')).trim() === 'here';
    });
  }

  /** A port of the loopback address behind which a Unix socket of the guest answers, as root; open as long as the guest runs. */
  async forward(socket: string): Promise<number> {
    await this.ssh('true'); // it goes through the connection that others share, which ends after a minute without use
    const port = await freePort();
    await new Promise<void>((resolve, reject) => {
      const args = [
        ...this.sshArgs().slice(0, -1),
        '-O',
        'forward',
        '-L',
        `127.0.0.1:${port}:${socket}`,
        'root@127.0.0.1',
      ];
      execFile('ssh', args, { timeout: 30_000 }, (error, _, stderr) => (error ? reject(new Error(stderr)) : resolve()));
    });
    return port;
  }

  /** Writes the memory beside the disks and ends the machine: what `restore` starts from. */
  async save(): Promise<void> {
    await this.qmp('stop');
    await this.qmp('migrate-set-parameters', { 'max-bandwidth': 2 ** 40 });
    await this.qmp('migrate', { uri: `exec:cat >'${join(this.dir, MEMORY)}'` });
    await this.migrated('the memory is written');
    await this.kill();
  }

  /** The reset button: the guest learns nothing of it, and what was not on disk is gone. */
  async reset(): Promise<void> {
    this.closeSsh();
    this.#resetAt = this.console().length;
    await this.qmp('system_reset');
  }

  /** Pulls a data disk. */
  async unplug(serial: string): Promise<void> {
    await this.qmp('device_del', { id: `disk-${serial}` });
    await until(
      `${serial} is unplugged`,
      30,
      async () => !(await this.sh('ls /dev/disk/by-id')).includes(`DISK_${serial}\n`),
    );
  }

  /** So many operations a second the disk does from now on; 0: as many as it can. */
  async throttle(serial: string, iops: number): Promise<void> {
    const none = { bps: 0, bps_rd: 0, bps_wr: 0, iops_rd: 0, iops_wr: 0 };
    await this.qmp('block_set_io_throttle', { id: `disk-${serial}`, ...none, iops });
  }

  /**
   * Plugs in a disk: a new and empty one, unless there was one of that serial number. `removable`: as a USB stick is.
   * `failsAt`: writing to this byte fails, as a faulty disk's medium does. `at`: its number on the bus; the first free one otherwise.
   */
  async plug(
    serial: string,
    bytes: string,
    { removable, failsAt, at }: { removable?: boolean; failsAt?: number; at?: number } = {},
  ): Promise<void> {
    const driver = failsAt === undefined ? 'qcow2' : 'raw'; // a place on the disk is one in the file only when it is raw
    const filename = join(this.dir, `${serial}.${driver}`);
    if (!existsSync(filename)) qemuImg('create', '-q', '-f', driver, filename, bytes);
    if (!this.disks.some((disk) => disk.serial === serial)) this.disks.push({ serial, bytes });
    const image = { driver: 'file', filename };
    await this.qmp('blockdev-add', {
      driver,
      'node-name': `plugged-${serial}`,
      discard: 'unmap',
      file:
        failsAt === undefined
          ? image
          : {
              ...{ driver: 'blkdebug', image },
              'inject-error': [{ event: 'none', iotype: 'write', errno: 5, sector: failsAt / 512 }],
            },
    });
    await this.qmp('device_add', {
      driver: 'scsi-hd',
      bus: 'scsi0.0',
      id: `disk-${serial}`,
      drive: `plugged-${serial}`,
      serial,
      ...(removable && { removable: true }),
      ...(at !== undefined && { 'scsi-id': at }),
    });
    await until(`${serial} is plugged in`, 30, async () =>
      (await this.sh('ls /dev/disk/by-id')).includes(`DISK_${serial}\n`),
    );
  }

  /** Pulls a disk that was plugged in, and keeps what is on it as a plain file. */
  async takeOut(serial: string, file: string): Promise<void> {
    await this.unplug(serial);
    await until(`${serial} is released`, 30, async () => {
      await this.qmp('blockdev-del', { 'node-name': `plugged-${serial}` }).catch((error: Error) => {
        if (!/in use/.test(error.message)) throw error;
        return this.qmp('query-status');
      });
      const nodes = (await this.qmp('query-named-block-nodes')) as { 'node-name': string }[];
      return nodes.every((node) => node['node-name'] !== `plugged-${serial}`);
    });
    qemuImg('convert', '-O', 'raw', join(this.dir, `${serial}.qcow2`), file);
  }

  private closeSsh(): void {
    try {
      execFileSync('ssh', [...this.sshArgs().slice(0, -1), '-O', 'exit', 'root@127.0.0.1'], { stdio: 'ignore' });
    } catch {
      // there was no open connection
    }
  }

  /** Ends the machine at once, like a power cut. */
  async kill(): Promise<void> {
    this.closeSsh();
    const child = this.process;
    this.qmpSocket?.destroy();
    this.qmpSocket = undefined;
    this.qmpAnswers = [];
    if (!child) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}
