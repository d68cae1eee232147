// Which page each setting is on, and which sources have its form: the labels that `/` finds are read from these by the build
// (ui/search.ts). ui/tests/search.test.ts compares this with the parts of the settings document, and with every form there is.
export interface SettingRow {
  /** Of the settings document; empty: it is not in it. */
  readonly part: string;
  /** That of the part. */
  readonly title: string;
  readonly path: string;
  /** Sources beneath ui/src, without `.tsx`, or folders of them. */
  readonly forms: readonly string[];
}

const row = (part: string, title: string, path: string, ...forms: string[]): SettingRow => ({
  ...{ part, title, path, forms },
});

export const settings: readonly SettingRow[] = [
  row('identity', 'Host name and time zone', '/settings/general', 'access/identity'),
  row('users', 'Users', '/settings/users', 'access/users'),
  row('providers', 'Identity providers', '/settings/providers', 'access/providers'),
  row('session-lifetime', 'How long sessions last', '/settings/sessions', 'access/session/AllSessions'),
  row('second-factor-policy', 'Second factor of administrators', '/settings/sessions', 'access/factors/Policy'),
  row('tokens', 'API tokens', '/settings/tokens', 'access/tokens'),
  row('inputs', 'Inputs', '/settings/inputs', 'access/inputs/Inputs', 'access/inputs/InputCertificate'),
  row('', 'Addresses, gateways, DNS, VLANs and bonds', '/settings/network', 'system/network'),
  row('firewall', 'From where services may be reached', '/settings/firewall', 'access/firewall'),
  row('', 'Certificate of the web page', '/settings/certificate', 'access/certificate'),
  row('ssh-keys', 'Keys for ssh', '/settings/ssh', 'access/ssh/Ssh'),
  row('audit-retention', 'How much of the audit log is kept', '/settings/audit-proof', 'access/audit/Keeping'),
  row('audit-forwarding', 'Where the audit log is sent on', '/settings/audit-proof', 'access/audit/Forwarding'),
  row('', 'Settings file', '/settings/document', 'access/settings-document'),
  row(
    'destinations',
    'Alert destinations',
    '/alerts/destinations',
    ...['CertificateFields', 'DestinationForm', 'EmailFields', 'SnmpFields', 'SyslogFields', 'WebhookFields'].map(
      (name) => `alerting/destinations/${name}`,
    ),
  ),
  row('alert-digest', 'Daily digest of alerts', '/alerts/destinations', 'alerting/destinations/DigestForm'),
  row('application-naming', 'Applications by name', '/applications', 'analytics/applications/NameRules'),
  row('thresholds', 'Threshold rules', '/alerts/thresholds', 'alerting/thresholds'),
  row(
    ...(['alert-classes', 'Where classes of alerts go', '/alerts/catalogue', 'alerting/catalogue'] as const),
    'alerting/destinations/Recipients',
  ),
  row('', 'Silences', '/alerts/silences', 'alerting/silences'),
  row('hosts', 'What is said of hosts', '/hosts', 'analytics/hosts/HostPage', 'analytics/hosts/HostActions'),
  row('host-views', 'Views of the hosts', '/hosts', 'analytics/hosts/HostFilters'),
  row('worksheets', 'Worksheets', '/analytics', 'analytics/worksheets'),
  row('recording-rules', 'Recording rules', '/analytics/recording-rules', 'analytics/recording-rules'),
  row('objectives', 'Objectives', '/analytics/objectives', 'analytics/objectives'),
  row('metric-meanings', 'What metrics are measured in', '/analytics/explore', 'analytics/explore/MeaningForm'),
  row('retention', 'How long measurements are kept', '/analytics/datasets', 'analytics/retention'),
  row('recorded-statistics', 'Recorded statistics', '/analytics/datasets'),
  row('outputs', 'Outputs', '/analytics/outputs', 'analytics/outputs'),
  row('', 'Create a pool', '/storage/new', 'storage/pools/PoolForm'),
  row('', 'Import a pool', '/storage/import', 'storage/pools/ImportPage'),
  row('', 'Properties of a pool', '/storage', 'storage/pools/PoolProperties', 'storage/pools/AddDisksPage'),
  row('scrub-schedules', 'When pools are scrubbed', '/storage', 'storage/pools/Scrubs'),
  row('', 'New dataset', '/storage/new-dataset', 'storage/datasets/NewDatasetPage'),
  row(
    ...(['', 'Properties of a dataset', '/storage/datasets', 'storage/datasets/PropertiesTab'] as const),
    ...['CompressionField', 'KeyTab', 'RenameForm', 'SnapshotsTab'].map((name) => `storage/datasets/${name}`),
  ),
  row('snapshot-schedules', 'Snapshots by schedule', '/storage/schedules', 'storage/schedules'),
  row('replications', 'Replications', '/storage/replication', 'storage/replication/ReplicationFormPage'),
  row('replication-senders', 'Who may replicate to here', '/storage/replication', 'storage/replication/Senders'),
  row('time', 'Whom the appliance asks for the time', '/maintenance/time', 'system/time'),
  row('tuning', 'How the operating system is tuned', '/maintenance/tuning', 'system/tuning'),
  row('', 'Reboot or switch off at a time', '/maintenance/power', 'system/power'),
  row('snmp-agent', 'Who may poll by SNMP', '/maintenance/snmp', 'system/snmp-agent', 'forms/SnmpFields'),
  row('', 'Support bundle', '/maintenance', 'support/bundles'),
  row(
    ...(['', 'Profile', '/profile', 'access/session/PasswordForm', 'access/ssh/OwnKeys'] as const),
    ...['access/factors/AddApp', 'access/factors/AddPasskey', 'access/factors/SecondFactor'],
  ),
];
