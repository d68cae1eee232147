// By which way something was asked for, in words.
import type { Entry } from './queries.ts';

export const ways: Record<NonNullable<Entry['way']>, string> = {
  page: 'page',
  token: 'API token',
  cli: 'command line',
  console: 'on the appliance',
  support: 'support page',
  ssh: 'ssh',
  appliance: 'by itself',
};
