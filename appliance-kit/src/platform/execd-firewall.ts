// The firewall of a real machine, by way of execd.
import { fail } from '../base/problems/problem.ts';
import type { Execd } from './execd.ts';
import type { FirewallDocument, FirewallPlatform, FirewallState } from './firewall.ts';

/** @param answer of execd's verb `firewall.read` */
export function parseFirewall(answer: unknown): FirewallState {
  const state = answer as Partial<FirewallState> | null;
  const right =
    Array.isArray(state?.kept?.services) &&
    Array.isArray(state.own) &&
    Array.isArray(state.differs) &&
    typeof state.dropped === 'object' &&
    typeof state.overLimit === 'object' &&
    (state.senders === null || Array.isArray(state.senders));
  if (!right) throw fail('command_failed', 'What execd says of the firewall cannot be read.');
  const services = (document: FirewallDocument): FirewallDocument => ({
    version: 1,
    // Go writes null for a list in which there is nothing.
    services: document.services.map(({ name, ports, networks }) => ({
      ...{ name, ports: ports ?? [], networks: networks ?? [] },
    })),
  });
  const { kept, tried } = state as FirewallState;
  return {
    ...(state as FirewallState),
    kept: services(kept),
    tried: tried === null ? null : { ...tried, document: services(tried.document) },
  };
}

export function execdFirewall(execd: Execd, sshListens: () => Promise<boolean>): FirewallPlatform {
  return {
    read: async () => parseFirewall(await execd.run('firewall.read', {})),
    try: async (document, seconds) =>
      ((await execd.run('firewall.try', { document, seconds })) as { token: string }).token,
    confirm: async (token) => void (await execd.run('firewall.confirm', { token })),
    takeBack: async (token) => void (await execd.run('firewall.take-back', { token })),
    set: async (document) => void (await execd.run('firewall.set', { document })),
    sshListens,
  };
}

/** Whether /proc/net/tcp or tcp6 has a socket that listens (state 0A) at port 22, and not on loopback only. */
export function listensForSsh(table: string): boolean {
  return table.split('\n').some((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    return state === '0A' && local.endsWith(':0016') && !local.startsWith('0100007F:');
  });
}
