// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import { CompressionChoice } from './compressions.ts';
import {
  DatasetChange,
  DatasetDetail,
  DatasetPage,
  DatasetQuery,
  DestroyDataset,
  EstimateInput,
  Hindrances,
  KeyInput,
  Mount,
  NewDataset,
  OneDataset,
  Rename,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  // A dataset's name holds slashes: it is given in the query, never in the path.
  listDatasets: { method: 'GET', path: '/api/datasets', access: 'viewer', summary: 'File systems and volumes, a page at a time', query: DatasetQuery, answer: ok(DatasetPage) },
  createDataset: { method: 'POST', path: '/api/datasets', access: 'administrator', summary: 'Create a file system or a volume', body: NewDataset, answer: created(DatasetDetail) },
  listCompressions: { method: 'GET', path: '/api/datasets/compressions', access: 'viewer', summary: 'The compressions there are, with cost and benefit', answer: ok(list(CompressionChoice)) },
  getDataset: { method: 'GET', path: '/api/dataset', access: 'viewer', summary: 'One dataset, with its properties and where their values come from', query: OneDataset, answer: ok(DatasetDetail) },
  updateDataset: { method: 'PUT', path: '/api/dataset', access: 'administrator', summary: 'Set properties, or reset them to what is inherited', query: OneDataset, body: DatasetChange, answer: ok(DatasetDetail) },
  destroyDataset: { method: 'DELETE', path: '/api/dataset', access: 'administrator', summary: 'Destroy a dataset', query: OneDataset, body: DestroyDataset, answer: nothing },
  previewDestroyDataset: { method: 'GET', path: '/api/dataset/destroy', access: 'viewer', summary: 'What destroying it would take along, and what hinders it', query: OneDataset, answer: ok(Hindrances) },
  renameDataset: { method: 'POST', path: '/api/dataset/rename', access: 'administrator', summary: 'Rename a dataset, within its pool', query: OneDataset, body: Rename, answer: ok(DatasetDetail) },
  mountDataset: { method: 'POST', path: '/api/dataset/mount', access: 'administrator', summary: 'Mount a file system, or unmount it', query: OneDataset, body: Mount, answer: ok(DatasetDetail) },
  changeDatasetKey: { method: 'POST', path: '/api/dataset/key', access: 'administrator', summary: 'Load, unload or change the key of an encrypted dataset', query: OneDataset, body: KeyInput, answer: ok(DatasetDetail) },
  estimateCompression: { method: 'POST', path: '/api/dataset/compression-estimate', access: 'operator', summary: 'Compress samples of its own blocks; the result of the job is a CompressionEstimate', query: OneDataset, body: EstimateInput, answer: accepted(Job) },
} as const satisfies Routes;
