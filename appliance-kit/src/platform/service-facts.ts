// The services there are, in the order a reader should meet them, and what each is for in plain words.
export interface ServiceFact {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** What is lost while it is down. */
  readonly impact: string;
}

export const serviceFacts: readonly ServiceFact[] = [
  {
    name: 'storaged',
    title: 'Telemetry store',
    description: 'Takes in measurements, keeps them and answers queries.',
    impact: 'No measurement is taken in, charts are empty and thresholds are not evaluated.',
  },
  {
    name: 'akd',
    title: 'Management',
    description: 'The management API: settings, alerts, jobs.',
    impact: 'The web interface cannot change or show anything, and no alert is raised.',
  },
  {
    name: 'execd',
    title: 'Privileged actions',
    description: 'Carries out changes to pools, services, network and power.',
    impact: 'Pools, services, network and power cannot be changed.',
  },
  {
    name: 'replicd',
    title: 'Replication',
    description: 'Sends snapshots to other machines, and takes in what they send.',
    impact: 'Nothing is replicated, to here or from here.',
  },
  {
    name: 'tracerd',
    title: 'Analytics',
    description: 'Measures what the machine does: counters, the web server’s log, DTrace.',
    impact: 'Statistics have a gap, and none can be opened. What is sent to the appliance is kept as ever.',
  },
  {
    name: 'supportd',
    title: 'Support bundles',
    description: 'Collects what is needed to find out what went wrong.',
    impact: 'No support bundle can be made.',
  },
  {
    name: 'gatherd',
    title: 'Collector',
    description: 'Collects for support bundles what only root may read.',
    impact: 'Support bundles lack the state of pools, the kernel’s messages and the configuration; they say so.',
  },
  {
    name: 'nginx',
    title: 'Web server',
    description: 'Serves this interface and the APIs over TLS.',
    impact: 'The web interface and the HTTP inputs cannot be reached.',
  },
  {
    name: 'snmpd',
    title: 'SNMP agent',
    description: 'Answers SNMP queries about the appliance.',
    impact: 'Monitoring by SNMP gets no answer; traps are still sent.',
  },
];

export function serviceFact(name: string): ServiceFact | undefined {
  return serviceFacts.find((fact) => fact.name === name);
}
