// Reads what the fault manager has diagnosed from `fmadm faulty`, whose text is no stable interface: a record begins with a
// line that has an event's id in it; what follows are labels with a colon, and lines that go on with them. A record that
// lacks some of that is one all the same. Written after fmadm(8) and usr/src/cmd/fm/fmadm/common/faulty.c of
// illumos-gate; not run on illumos yet.
import { fail } from '../../base/problems/problem.ts';
import type { PlatformFault } from '../platform.ts';

/** Date, event id, message id, severity, and whether somebody injected it. Further events of the same trouble have only the first two. */
const HEAD = /^(\S.*?)\s+([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:\s+(\S+)\s+(\S+)(?:\s+injected)?)?\s*$/;
const LABEL = /^([A-Z][A-Za-z_. ]{0,14}?)\s*: ?(.*)$/;
/** How likely a suspect is; of several with one name how many and the likeliest. */
const SHARE = / (?:(?:\d+ @ )?max )?\d+%$/;
/** What fmadm says beneath a name of how it is. */
const STATUS =
  /^(faulted|faulty|degraded|service degraded|ok|out of service|in service|unknown|not present|repair|replaced|acquitted|removed)\b/;

interface Record {
  readonly id: string;
  readonly code: string;
  readonly severity: string;
  readonly labels: Map<string, string[]>;
}

export function parseFaults(output: string): PlatformFault[] {
  const records: Record[] = [];
  let lines: string[] | null = null;
  for (const line of output.split('\n')) {
    const [, , id, code, severity] = HEAD.exec(line) ?? [];
    if (id !== undefined) {
      lines = null;
      if (severity !== undefined) records.push({ id, code: code ?? '-', severity, labels: new Map() });
      continue;
    }
    if (/^-{5}|^TIME\s/.test(line)) {
      lines = null;
      continue;
    }
    const [, label, first] = LABEL.exec(line) ?? [];
    const record = records.at(-1);
    if (label !== undefined && first !== undefined && record !== undefined) {
      lines = [first.trim()];
      record.labels.set(label.trim(), lines);
    } else if (/^\s+\S/.test(line) && lines !== null) {
      lines.push(line.trim());
    }
  }
  if (records.length === 0 && output.trim() !== '') {
    throw fail('command_failed', `What “fmadm faulty” printed cannot be read: “${output.trim().slice(0, 200)}”.`);
  }
  return records.map(({ id, code, severity, labels }) => {
    const words = (label: string) => (labels.get(label) ?? []).filter((line) => line !== '').join(' ');
    const names = (label: string) =>
      (labels.get(label) ?? [])
        .filter((line) => line !== '' && !STATUS.test(line))
        .map((line) => line.replace(SHARE, ''));
    return {
      ...{ id, code, severity },
      classes: words('Fault class')
        .split(/\s+/)
        .filter((word) => word.includes('.')),
      affects: names('Affects'),
      // "Slot 05" (hc://…): what is printed on the machine is what a person finds.
      parts: names('FRU').map((name) => /^"([^"]+)"/.exec(name)?.[1] ?? name),
      description: words('Description'),
      action: words('Action'),
    };
  });
}
