// The places one can go, in the order of the navigation; also what `/` searches and `g` + letter goes to.
import type { User } from '../api/session.ts';

export interface Place {
  readonly title: string;
  readonly path: string;
  /** The letter after `g`; empty for places that are only found by searching. */
  readonly key: string;
  readonly about: string;
  /** Who may see it and what lies beneath it; left out: everybody. */
  readonly role?: User['role'];
}

export const navigation: readonly Place[] = [
  { title: 'Status', path: '/status', key: 's', about: 'The state of the appliance' },
  { title: 'Analytics', path: '/analytics', key: 'a', about: 'What this machine is doing' },
  { title: 'Hosts', path: '/hosts', key: 'h', about: 'The machines that metrics come from' },
  { title: 'Applications', path: '/applications', key: 'p', about: 'What programs do, and how well' },
  { title: 'Alerts', path: '/alerts', key: 'l', about: 'What is wrong now, and what was' },
  { title: 'Storage', path: '/storage', key: 't', about: 'Pools, disks and datasets' },
  { title: 'Services', path: '/services', key: 'v', about: 'The parts of the appliance' },
  { title: 'Settings', path: '/settings', key: 'e', about: 'Who and what may come in', role: 'administrator' },
  { title: 'Maintenance', path: '/maintenance', key: 'm', about: 'Support bundles and system information' },
];

export const places: readonly Place[] = [
  ...navigation,
  { title: 'Statistics', path: '/analytics/statistics', key: '', about: 'What can be measured of this machine' },
  { title: 'Recorded datasets', path: '/analytics/datasets', key: '', about: 'What is measured, and what it costs' },
  {
    title: 'Recording rules',
    path: '/analytics/recording-rules',
    key: '',
    about: 'Results of expressions that are stored as metrics',
  },
  { title: 'Objectives', path: '/analytics/objectives', key: '', about: 'What was promised, and how it stands' },
  { title: 'Explore', path: '/analytics/explore', key: '', about: 'Every metric that was sent' },
  { title: 'PromQL', path: '/analytics/query', key: '', about: 'An expression as a table, a graph or a heatmap' },
  { title: 'What changed?', path: '/analytics/changed', key: '', about: 'Series that are not what they were before' },
  { title: 'Outputs', path: '/analytics/outputs', key: '', about: 'Where samples are sent on, and how that goes' },
  { title: 'New output', path: '/analytics/outputs/new', key: '', about: 'Remote write, Graphite, statsd or files' },
  { title: 'Threshold rules', path: '/alerts/thresholds', key: '', about: 'When a metric raises an alert' },
  { title: 'Alert destinations', path: '/alerts/destinations', key: '', about: 'Where alerts are sent' },
  { title: 'Alert log', path: '/alerts/log', key: '', about: 'Every alert there was' },
  { title: 'Silences', path: '/alerts/silences', key: '', about: 'Which alerts are suppressed, and until when' },
  { title: 'New silence', path: '/alerts/silences/new', key: '', about: 'A maintenance window' },
  {
    title: 'Alert catalogue',
    path: '/alerts/catalogue',
    key: '',
    about: 'Every alert class, and where its alerts are sent',
  },
  { title: 'Create a pool', path: '/storage/new', key: '', about: 'From disks that are free' },
  { title: 'Import a pool', path: '/storage/import', key: '', about: 'From disks that another machine has used' },
  { title: 'Datasets', path: '/storage/datasets', key: '', about: 'File systems and volumes, and their snapshots' },
  { title: 'New dataset', path: '/storage/new-dataset', key: '', about: 'A file system or a volume on a pool' },
  { title: 'Snapshot schedules', path: '/storage/schedules', key: '', about: 'When snapshots are taken and kept' },
  { title: 'Replication', path: '/storage/replication', key: '', about: 'Copies on other pools and machines' },
  { title: 'New replication', path: '/storage/new-replication', key: '', about: 'To another pool or machine' },
  { title: 'Logs', path: '/services/logs', key: '', about: 'Log lines of all services', role: 'operator' },
  {
    title: 'Web requests',
    path: '/services/requests',
    key: '',
    about: 'What the web server answered',
    role: 'operator',
  },
  {
    title: 'Hardware',
    path: '/maintenance/hardware',
    key: '',
    about: 'The parts of the machine: sensors, errors, memory, cards, slots',
  },
  {
    title: 'Time',
    path: '/maintenance/time',
    key: '',
    about: 'Whom the appliance asks for the time, and what they answer',
    role: 'administrator',
  },
  {
    title: 'Power',
    path: '/maintenance/power',
    key: '',
    about: 'Reboot, switch off, now or at a time; how it ended before',
  },
  {
    title: 'Tuning',
    path: '/maintenance/tuning',
    key: '',
    about: 'Memory of ZFS, writes, sockets, the log',
    role: 'administrator',
  },
  { title: 'SNMP agent', path: '/maintenance/snmp', key: '', about: 'Who may poll this appliance, and its MIB' },
  {
    title: 'Clock, network and temperatures',
    path: '/maintenance/machine',
    key: '',
    about: 'The state of the machine itself',
  },
  { title: 'Installed systems', path: '/maintenance/system', key: '', about: 'Which one starts next time' },
  { title: 'General', path: '/settings/general', key: '', about: 'Host name and time zone' },
  { title: 'Identity providers', path: '/settings/providers', key: '', about: 'Where else people may sign in' },
  { title: 'Users', path: '/settings/users', key: '', about: 'Who may sign in' },
  { title: 'Sessions', path: '/settings/sessions', key: '', about: 'Who is signed in, and for how long' },
  { title: 'API tokens', path: '/settings/tokens', key: '', about: 'What programs sign in with' },
  { title: 'Inputs', path: '/settings/inputs', key: '', about: 'By which ways samples come in, and from where' },
  { title: 'Network', path: '/settings/network', key: '', about: 'The addresses of this machine' },
  { title: 'Firewall', path: '/settings/firewall', key: '', about: 'Who may reach what from the network' },
  { title: 'Certificate', path: '/settings/certificate', key: '', about: 'The certificate of this page' },
  { title: 'SSH', path: '/settings/ssh', key: '', about: 'Whether users come in by ssh, and by which keys' },
  { title: 'Audit log', path: '/settings/audit', key: '', about: 'Who did what, from where' },
  {
    title: 'Audit proof',
    path: '/settings/audit-proof',
    key: '',
    about: 'Hashes of the audit log, how long it is kept, where it is sent',
  },
  { title: 'History of the settings', path: '/settings/history', key: '', about: 'What was changed, and the way back' },
  { title: 'Settings file', path: '/settings/document', key: '', about: 'Export all that can be set, apply a file' },
  { title: 'Profile', path: '/profile', key: '', about: 'Your password, your sessions' },
  { title: 'Command line', path: '/profile/command-line', key: '', about: 'The command cistern for your own machine' },
  { title: 'New threshold rule', path: '/alerts/thresholds/new', key: '', about: 'When … stays above …' },
];

/** Who may see what is at a path: what the places say above which it lies. */
export function roleAt(pathname: string): User['role'] {
  const above = places.filter(({ path, role }) => role && (pathname === path || pathname.startsWith(`${path}/`)));
  return above.sort((a, b) => b.path.length - a.path.length)[0]?.role ?? 'viewer';
}

/** Which part of the manual explains the pages below a path. */
const manual: Readonly<Record<string, string>> = {
  '/status': 'system',
  '/analytics': 'analytics',
  '/analytics/outputs': 'outputs',
  '/hosts': 'hosts',
  '/applications': 'applications',
  '/alerts': 'alerting',
  '/alerts/catalogue': 'alerts',
  '/storage': 'storage',
  '/services': 'system',
  '/settings': 'access',
  '/settings/network': 'network',
  '/settings/firewall': 'firewall',
  '/settings/certificate': 'certificate',
  '/settings/history': 'settings',
  '/settings/document': 'settings',
  '/settings/audit': 'audit',
  '/settings/audit-proof': 'audit',
  '/profile': 'access',
  '/profile/command-line': 'command-line',
  '/maintenance': 'support',
  '/maintenance/hardware': 'system',
  '/maintenance/machine': 'system',
  '/maintenance/time': 'system',
  '/maintenance/power': 'system',
  '/maintenance/tuning': 'system',
  '/maintenance/snmp': 'system',
  '/maintenance/system': 'system',
};

/** The page of the manual (ui/manual.ts) that explains the page at a path: that of the longest path that fits. */
export function manualOf(pathname: string): string {
  const fitting = Object.keys(manual).filter((path) => pathname === path || pathname.startsWith(`${path}/`));
  const longest = fitting.sort((a, b) => b.length - a.length)[0];
  return `/docs/manual/${longest === undefined ? 'README' : manual[longest]}.html`;
}
