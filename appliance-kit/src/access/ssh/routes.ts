// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { NewSshKey, SshAccess, SshAccessInput, SshKey, SshKeysQuery } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listSshKeys: { method: 'GET', path: '/api/ssh-keys', access: 'viewer', summary: "One's own keys for ssh, or those of all users", query: SshKeysQuery, answer: ok(list(SshKey)) },
  addSshKey: { method: 'POST', path: '/api/ssh-keys', access: 'session', confirm: true, summary: 'Add a public key by which one comes in by ssh, while that is switched on', body: NewSshKey, answer: created(SshKey) },
  removeSshKey: { method: 'DELETE', path: '/api/ssh-keys/:id', access: 'viewer', confirm: true, summary: "Remove a key for ssh: one's own, or as an administrator any; sessions by ssh end", params: byId, answer: nothing },
  getSshAccess: { method: 'GET', path: '/api/ssh-access', access: 'viewer', summary: 'Until when users may come in by ssh, and from where', editable: SshAccessInput, answer: ok(SshAccess) },
  setSshAccess: { method: 'PUT', path: '/api/ssh-access', access: 'administrator', confirm: true, summary: 'Switch ssh on until a time, or off', body: SshAccessInput, answer: ok(SshAccess) },
} as const satisfies Routes;
