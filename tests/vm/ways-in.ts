// Signing in at a machine, in the ways that need more than a password.
import assert from 'node:assert/strict';
import { codeOfApp } from '../../appliance-kit/tests/harness.ts';
import { Person } from '../stack/api.ts';
import type { Reply } from '../stack/http.ts';
import type { Machine } from './machine.ts';
import { until } from './until.ts';

const PATIENCE_MS = 120_000;

/** Whoever it is, with cookies of their own. */
export async function signIn(machine: Machine, body: object): Promise<{ person: Person; reply: Reply }> {
  const person = new Person(machine.url, PATIENCE_MS);
  return { person, reply: await person.ask('POST', '/api/session', body) };
}

/** With a one-time password, which is replaced. */
export async function firstSignIn(machine: Machine, user: string, oneTime: string, password: string): Promise<Person> {
  const { person, reply } = await signIn(machine, { user, password: oneTime });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.json<{ mustChangePassword?: boolean }>().mustChangePassword, true, reply.text);
  const change = { currentPassword: oneTime, newPassword: password };
  await person.get('POST', '/api/session/change-password', change);
  return person;
}

export interface App {
  readonly recoveryCodes: readonly string[];
  /** What it shows so many half minutes from now. */
  code(later?: number): string;
}

/** @param aheadSeconds of the guest's clock, which has to be synchronised by then */
export async function addApp(person: Person, aheadSeconds = 0): Promise<App> {
  const started = await until('the clock is right, and an app is being added', 150, async () => {
    const reply = await person.ask('POST', '/api/factors/start', { name: 'phone' });
    return reply.status === 200 && reply.json<{ id: string; secret: string }>();
  });
  const code = (later = 0) => codeOfApp(started.secret, Date.now() + aheadSeconds * 1000, later);
  const path = `/api/factors/${started.id}/finish`;
  const { recoveryCodes } = await person.get<{ recoveryCodes: string[] }>('POST', path, { code: code() });
  return { recoveryCodes, code };
}

/** At the serial port, as somebody does who has lost everything. `said` comes before the one-time password. */
export async function letInAtConsole(machine: Machine, user: string, said: string): Promise<string> {
  const before = machine.console().length;
  const see = (what: string, pattern: RegExp, seconds = 60) =>
    until(`the console ${what}`, seconds, () => pattern.exec(machine.console().slice(before)), 200);
  await machine.type('p\n');
  await see('asks for the name', /Name of the administrator/);
  await machine.type(`${user}\n`);
  await see('says what it will do', /All second factors end[\s\S]*Type yes to do it/);
  await machine.type('yes\n');
  const [, password] = await see(
    'shows a one-time password',
    new RegExp(`${said}[\\s\\S]*One-time password {2}([a-z2-9-]{19})\\n`),
    120,
  );
  await machine.type('\n');
  await see('shows its page again', /Enter clears the screen[\s\S]*bundle, to a USB disk/);
  return password as string;
}
