// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { ok, type Routes } from '../../http/routes.ts';
import {
  byEntry,
  LARGEST_DOCUMENT,
  SettingsApplied,
  SettingsApplyInput,
  SettingsCompareQuery,
  SettingsComparison,
  SettingsDocument,
  SettingsExportInput,
  SettingsHistoryEntry,
  SettingsHistoryQuery,
  SettingsPartList,
  SettingsPlan,
  SettingsPlanInput,
  SettingsQuery,
  SettingsRestoreInput,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  getSettings: { method: 'GET', path: '/api/settings-document', access: 'administrator', summary: 'What an administrator can set, as one document; secrets are left out', query: SettingsQuery, answer: ok(SettingsDocument) },
  exportSettings: { method: 'POST', path: '/api/settings-document/export', access: 'administrator', confirm: true, summary: 'The same with the secrets, sealed with a passphrase', body: SettingsExportInput, answer: ok(SettingsDocument) },
  planSettings: { method: 'POST', path: '/api/settings-document/preview', access: 'administrator', summary: 'What applying a document would change, and what it cannot', body: SettingsPlanInput, maxBytes: LARGEST_DOCUMENT, answer: ok(SettingsPlan) },
  applySettings: { method: 'POST', path: '/api/settings-document/apply', access: 'administrator', confirm: true, summary: 'Apply a document as the plan of that fingerprint says, or nothing of it', body: SettingsApplyInput, maxBytes: LARGEST_DOCUMENT, answer: ok(SettingsApplied) },
  listSettingsParts: { method: 'GET', path: '/api/settings-parts', access: 'administrator', summary: 'The parts of the settings document', answer: ok(SettingsPartList) },
  listSettingsHistory: { method: 'GET', path: '/api/settings-changes', access: 'administrator', summary: 'Who changed which part of the settings, newest first', query: SettingsHistoryQuery, answer: ok(list(SettingsHistoryEntry)) },
  compareSettings: { method: 'GET', path: '/api/settings-changes/:id', access: 'administrator', summary: 'A part before a change, beside what it became, another point of the history, or what it is now', params: byEntry, query: SettingsCompareQuery, answer: ok(SettingsComparison) },
  planSettingsRestore: { method: 'GET', path: '/api/settings-changes/:id/restore-preview', access: 'administrator', summary: 'What restoring a part as it was before a change would do', params: byEntry, answer: ok(SettingsPlan) },
  restoreSettings: { method: 'POST', path: '/api/settings-changes/:id/restore', access: 'administrator', confirm: true, summary: 'Restore a part as it was before a change, as the plan of that fingerprint says', params: byEntry, body: SettingsRestoreInput, answer: ok(SettingsApplied) },
} as const satisfies Routes;
