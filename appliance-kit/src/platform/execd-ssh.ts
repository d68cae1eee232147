// ssh on a real machine, by way of execd.
import type { Execd } from './execd.ts';
import type { SshKey, SshPlatform } from './ssh.ts';

export function execdSsh(execd: Execd): SshPlatform {
  return {
    configure: async (access) =>
      ((await execd.run('ssh.configure', access)) as { hostKey?: SshKey | null }).hostKey ?? null,
    checkKey: async (key) => (await execd.run('ssh.check-key', { key })) as SshKey,
  };
}
