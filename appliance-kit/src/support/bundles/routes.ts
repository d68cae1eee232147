// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, byId, nothing, ok, type Routes, stream } from '../../http/routes.ts';
import { Bundle, BundleOptions, NewBundle } from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listBundles: { method: 'GET', path: '/api/bundles', access: 'operator', summary: 'Support bundles', answer: ok(list(Bundle)) },
  createBundle: { method: 'POST', path: '/api/bundles', access: 'operator', summary: 'Make a support bundle', body: NewBundle, answer: accepted(Bundle) },
  getBundle: { method: 'GET', path: '/api/bundles/:id', access: 'operator', summary: 'One bundle', params: byId, answer: ok(Bundle) },
  deleteBundle: { method: 'DELETE', path: '/api/bundles/:id', access: 'operator', summary: 'Remove a bundle, or cancel one being made', params: byId, answer: nothing },
  downloadBundle: { method: 'GET', path: '/api/bundles/:id/content', access: 'operator', summary: "A bundle's content; Range is allowed", params: byId, answer: stream({ 'application/zstd': null }) },
  retryBundle: { method: 'POST', path: '/api/bundles/:id/retry', access: 'operator', summary: 'Run the failed steps of a bundle again', params: byId, answer: accepted(Bundle) },
  getBundleOptions: { method: 'GET', path: '/api/bundle-options', access: 'operator', summary: 'What a bundle may hold, and where it may be written', answer: ok(BundleOptions) },
} as const satisfies Routes;
