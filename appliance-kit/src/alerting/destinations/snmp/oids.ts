// Where things are in CISTERN-MIB (mib/CISTERN-MIB.txt says the same; a test compares the two).
//
// The enterprise number is net-snmp's playpen (NET-SNMP-MIB::netSnmpPlaypen) until IANA gives us one of our own.
// That change will be the last: from the first release on these numbers stay.
export const ENTERPRISE = '1.3.6.1.4.1.8072.9999.9999.7710';

export const notifications = {
  cisternAlertRaised: `${ENTERPRISE}.0.1`,
  cisternAlertCleared: `${ENTERPRISE}.0.2`,
} as const;

export const objects = {
  cisternAlertEventId: `${ENTERPRISE}.1.1.1`,
  cisternAlertClass: `${ENTERPRISE}.1.1.2`,
  cisternAlertSeverity: `${ENTERPRISE}.1.1.3`,
  cisternAlertTitle: `${ENTERPRISE}.1.1.4`,
  cisternAlertText: `${ENTERPRISE}.1.1.5`,
  cisternAlertValue: `${ENTERPRISE}.1.1.6`,
  cisternAlertLimit: `${ENTERPRISE}.1.1.7`,
  cisternAlertHost: `${ENTERPRISE}.1.1.8`,
  cisternAlertTime: `${ENTERPRISE}.1.1.9`,
  cisternAlertCount: `${ENTERPRISE}.1.1.10`,
  cisternAlertShared: `${ENTERPRISE}.1.1.11`,
  cisternAlertPage: `${ENTERPRISE}.1.1.12`,
} as const;

export const severities = { info: 1, warning: 2, critical: 3 } as const;
