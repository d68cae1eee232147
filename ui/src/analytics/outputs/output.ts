// An output's form as it is typed, and the API's input made of it. A secret field left alone keeps the stored one.
import type { Schemas } from '../../api/client.ts';
import { labelsIn, linesIn } from '../../forms/lines.ts';

export type Output = Schemas['Output'];
export type OutputInput = Schemas['OutputInput'];

export interface OutputDraft {
  kind: Output['kind'];
  name: string;
  enabled: boolean;
  begin: Output['begin'];
  /** A selector a line. */
  keep: string;
  /** NAME=VALUE a line. */
  labels: string;
  lagMiB: string;
  // remote write
  url: string;
  version: 'auto' | '1.0' | '2.0';
  sign: 'none' | 'user' | 'token';
  user: string;
  password: string;
  token: string;
  /** What is typed; null: as stored. */
  ca: string | null;
  // graphite and statsd
  address: string;
  prefix: string;
  quantiles: string;
  protocol: 'udp' | 'tcp';
  histograms: 'ms' | 'h' | 'none';
  // file
  folder: string;
  fileMiB: string;
  files: string;
}

/** The appliance's own series, which another Cistern does not take from a sender. */
const NOT_OWN = '{__name__!~"cistern_.*"}';

export function newOutput(kind: Output['kind']): OutputDraft {
  return {
    ...{ kind, name: '', enabled: true, begin: 'now', keep: NOT_OWN, labels: '', lagMiB: '1024' },
    ...{ url: '', version: 'auto', sign: 'none', user: '', password: '', token: '', ca: null },
    ...{ address: '', prefix: '', quantiles: '0.5, 0.99', protocol: 'udp', histograms: 'ms' },
    ...{ folder: '', fileMiB: '64', files: '100' },
  };
}

export function draftOfOutput(one: Output): OutputDraft {
  const { kind, name, enabled, begin, keep, labels, lagMiB, remoteWrite, graphite, statsd, file } = one;
  const lines = Object.entries(labels).map(([label, value]) => `${label}=${value}`);
  return {
    ...newOutput(kind),
    ...{ name, enabled, begin, keep: keep.join('\n'), labels: lines.join('\n'), lagMiB: String(lagMiB) },
    ...(remoteWrite && {
      ...{ url: remoteWrite.url, version: remoteWrite.version, user: remoteWrite.user ?? '' },
      sign: remoteWrite.tokenSet ? 'token' : remoteWrite.user ? 'user' : 'none',
    }),
    ...(graphite && {
      ...{ address: graphite.address, prefix: graphite.prefix, quantiles: graphite.quantiles.join(', ') },
    }),
    ...(statsd && statsd),
    ...(file && { folder: file.folder, fileMiB: String(file.fileMiB), files: String(file.files) }),
  };
}

/** A secret is sent when something was typed, and removed when the way to sign in is another. */
function secrets({ sign, user, password, token }: OutputDraft) {
  return {
    ...(sign === 'user' && { user: user.trim() }),
    ...(sign === 'user' ? password !== '' && { password } : { password: '' }),
    ...(sign === 'token' ? token !== '' && { token } : { token: '' }),
  };
}

function titleOf(draft: OutputDraft): string {
  if (draft.kind === 'file') return `Files in ${draft.folder.trim()}`;
  if (draft.kind === 'graphite') return `Graphite at ${draft.address.trim()}`;
  if (draft.kind === 'statsd') return `statsd at ${draft.address.trim()}`;
  const url = URL.parse(draft.url.trim());
  return `Remote write to ${url?.host ?? draft.url.trim()}`;
}

export function inputOfOutput(draft: OutputDraft): OutputInput {
  const { kind, enabled, begin } = draft;
  const common = {
    ...{ kind, enabled, begin, name: draft.name.trim() || titleOf(draft) },
    ...{ keep: linesIn(draft.keep), labels: labelsIn(draft.labels), lagMiB: Number(draft.lagMiB) },
  };
  const address = draft.address.trim();
  if (kind === 'graphite') {
    const quantiles = draft.quantiles
      .split(/[\s,;]+/)
      .filter((one) => one !== '')
      .map(Number);
    return { ...common, graphite: { address, prefix: draft.prefix.trim(), quantiles } };
  }
  if (kind === 'statsd') {
    return { ...common, statsd: { address, protocol: draft.protocol, histograms: draft.histograms } };
  }
  if (kind === 'file') {
    const { fileMiB, files } = draft;
    return { ...common, file: { folder: draft.folder.trim(), fileMiB: Number(fileMiB), files: Number(files) } };
  }
  return {
    ...common,
    remoteWrite: {
      ...{ url: draft.url.trim(), version: draft.version },
      ...secrets(draft),
      ...(draft.ca !== null && { ca: draft.ca.trim() }),
    },
  };
}

/** An output as it is, switched on or off: its secrets stay. */
export function switched(one: Output, enabled: boolean): OutputInput {
  const { id: _, etag: __, health: ___, remoteWrite, ...rest } = one;
  if (remoteWrite === undefined) return { ...rest, enabled };
  const { passwordSet: ____, tokenSet: _____, authority: ______, ...shown } = remoteWrite;
  return { ...rest, enabled, remoteWrite: shown };
}
