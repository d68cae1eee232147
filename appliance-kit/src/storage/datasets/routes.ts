// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import { CompressionChoice } from './compressions.ts';
import {
  ChangeKeyInput,
  DatasetChange,
  DatasetDetail,
  DatasetPage,
  DatasetQuery,
  DestroyDataset,
  EstimateInput,
  editableProperties,
  Hindrances,
  LoadKeyInput,
  NewDataset,
  OneDataset,
  Rename,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  // A dataset's name holds slashes: percent-encoded it is one segment of the path.
  listDatasets: { method: 'GET', path: '/api/datasets', access: 'viewer', summary: 'File systems and volumes, a page at a time', query: DatasetQuery, answer: ok(DatasetPage) },
  createDataset: { method: 'POST', path: '/api/datasets', access: 'administrator', summary: 'Create a file system or a volume', body: NewDataset, answer: created(DatasetDetail) },
  listCompressions: { method: 'GET', path: '/api/dataset-compressions', access: 'viewer', summary: 'The compressions there are, with cost and benefit', answer: ok(list(CompressionChoice)) },
  getDataset: { method: 'GET', path: '/api/datasets/:name', access: 'viewer', summary: 'One dataset, with its properties and where their values come from', params: OneDataset, answer: ok(DatasetDetail), editable: editableProperties },
  updateDataset: { method: 'PUT', path: '/api/datasets/:name', access: 'administrator', summary: 'Set properties, or reset them to what is inherited', params: OneDataset, body: DatasetChange, answer: ok(DatasetDetail) },
  destroyDataset: { method: 'DELETE', path: '/api/datasets/:name', access: 'administrator', confirm: true, summary: 'Destroy a dataset', params: OneDataset, body: DestroyDataset, answer: nothing },
  previewDestroyDataset: { method: 'GET', path: '/api/datasets/:name/destroy-preview', access: 'viewer', summary: 'What destroying it would take along, and what hinders it', params: OneDataset, answer: ok(Hindrances) },
  renameDataset: { method: 'POST', path: '/api/datasets/:name/rename', access: 'administrator', summary: 'Rename a dataset, within its pool', params: OneDataset, body: Rename, answer: ok(DatasetDetail) },
  mountDataset: { method: 'POST', path: '/api/datasets/:name/mount', access: 'administrator', summary: 'Mount a file system', params: OneDataset, answer: ok(DatasetDetail) },
  unmountDataset: { method: 'POST', path: '/api/datasets/:name/unmount', access: 'administrator', summary: 'Unmount a file system', params: OneDataset, answer: ok(DatasetDetail) },
  loadDatasetKey: { method: 'POST', path: '/api/datasets/:name/load-key', access: 'administrator', summary: 'Load the key of an encrypted dataset', params: OneDataset, body: LoadKeyInput, answer: ok(DatasetDetail) },
  unloadDatasetKey: { method: 'POST', path: '/api/datasets/:name/unload-key', access: 'administrator', summary: 'Unload the key of an encrypted dataset: nothing of it can be read until it is loaded', params: OneDataset, answer: ok(DatasetDetail) },
  changeDatasetKey: { method: 'POST', path: '/api/datasets/:name/change-key', access: 'administrator', confirm: true, summary: 'Give an encrypted dataset another key', params: OneDataset, body: ChangeKeyInput, answer: ok(DatasetDetail) },
  estimateCompression: { method: 'POST', path: '/api/datasets/:name/estimate-compression', access: 'operator', summary: 'Compress samples of its own blocks; the result of the job is a CompressionEstimate', params: OneDataset, body: EstimateInput, answer: accepted(Job) },
} as const satisfies Routes;
