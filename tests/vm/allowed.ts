// Lines of the journal that a machine may write in any test. Each has its reason; what a test provokes it declares itself.
export const allowed: readonly (readonly [line: RegExp, reason: string])[] = [
  [/^systemd-ssh-generator: Failed to query local AF_VSOCK CID/, 'QEMU gives the machine no VSOCK device'],
  [/^\(sd-exec-?\S*: .*systemd-ssh-generator failed/, 'the same, as systemd reports it'],
  [/^snmpd: .*agent\.conf: No such file or directory/, 'the agent is configured only once a manager may poll'],
  [/^udevadm: Timed out while waiting for udev queue/, 'a boot under emulation, on a host that is busy'],
  [/^sshd(-session)?: /, 'ssh is off in the image; only the tests use it, and cut its connections'],
  [
    /^kernel: .*(clocksource|rcu: |rcu_|soft lockup|blocked for more than|watchdog: )/,
    'an emulated processor that had to wait for one of the host',
  ],
  [
    /^kernel: ("echo 0 > \/proc\/sys\/kernel\/hung_task_timeout_secs"| +Tainted: )/,
    'the two lines that follow "blocked for more than"',
  ],
  [
    /^kernel: \.\.MP-BIOS bug: 8254 timer not connected to IO-APIC/,
    'the same, while the kernel counts the ticks of its first timer at a boot',
  ],
];
