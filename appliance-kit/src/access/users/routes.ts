// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { byName, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { NewUser, OneTimePassword, RoleDescription, User, UserChange, UserDeletion } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listUsers: { method: 'GET', path: '/api/users', access: 'administrator', summary: 'Who may sign in', answer: ok(list(User)) },
  getUser: { method: 'GET', path: '/api/users/:name', access: 'administrator', summary: 'One user', params: byName, editable: UserChange, answer: ok(User) },
  createUser: { method: 'POST', path: '/api/users', access: 'administrator', confirm: true, summary: 'Add a user; the answer is the only place where the one-time password is shown', body: NewUser, answer: created(OneTimePassword) },
  changeUser: { method: 'PUT', path: '/api/users/:name', access: 'administrator', confirm: true, summary: 'Change the role of a user, or disable the user', params: byName, body: UserChange, answer: ok(User) },
  deleteUser: { method: 'DELETE', path: '/api/users/:name', access: 'administrator', confirm: true, summary: 'Delete a user', params: byName, query: UserDeletion, answer: nothing },
  resetPassword: { method: 'POST', path: '/api/users/:name/reset-password', access: 'administrator', confirm: true, summary: 'Replace the password of a user by a one-time password', params: byName, answer: ok(OneTimePassword) },
  listRoles: { method: 'GET', path: '/api/roles', access: 'viewer', summary: 'What each role may do', answer: ok(list(RoleDescription)) },
} as const satisfies Routes;
