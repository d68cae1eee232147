// Messages as the alert journal holds them, for the tests of those who send them.
import type { Message } from '../src/alerting/alerts/message.ts';

export function message(event: Message['event'] = 'raise', change: Partial<Message['alert']> = {}): Message {
  return {
    version: 1,
    eventId: `ev-000000001-${event}`,
    event,
    at: '2026-01-01T00:05:00.000Z',
    hostName: 'metrics1',
    alert: {
      id: 'al-000000001-aaaaaaaaaa',
      groupId: 'bu-000000001-aaaaaaaaaa',
      class: 'threshold.exceeded',
      title: 'Egress (host="web1")',
      text: 'Egress (host="web1") is 16, above the limit of 6.',
      severity: 'critical',
      state: event === 'clear' ? 'cleared' : 'active',
      raisedAt: '2026-01-01T00:00:00.000Z',
      clearedAt: event === 'clear' ? '2026-01-01T00:05:00.000Z' : null,
      value: 16.25,
      limit: 6,
      unit: '',
      labels: { host: 'web1' },
      ruleId: 'th-1',
      ruleName: 'Egress',
      noData: false,
      impact: 'Somebody is waiting.',
      response: 'Measuring goes on.',
      action: 'Look at the chart.',
      page: '/alerts/thresholds/th-1',
      ...change,
    },
  };
}
