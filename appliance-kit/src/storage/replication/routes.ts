// What this domain answers, and who may ask.

import { list } from '../../base/schema/schema.ts';
import { accepted, byId, created, nothing, ok, type Routes } from '../../http/routes.ts';
import { Job } from '../../jobs/index.ts';
import {
  HostInput,
  HostKey,
  Replication,
  ReplicationInput,
  ReplicationPreview,
  ReplicationPreviewInput,
  Sender,
  SenderInput,
  SenderList,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listReplications: { method: 'GET', path: '/api/replications', access: 'viewer', summary: 'What is replicated where, and how far behind it is', answer: ok(list(Replication)) },
  createReplication: { method: 'POST', path: '/api/replications', access: 'administrator', summary: 'Replicate a dataset to another pool or machine', body: ReplicationInput, answer: created(Replication) },
  getReplication: { method: 'GET', path: '/api/replications/:id', access: 'viewer', summary: 'One replication', params: byId, answer: ok(Replication), editable: ReplicationInput },
  updateReplication: { method: 'PUT', path: '/api/replications/:id', access: 'administrator', summary: 'Change a replication', params: byId, body: ReplicationInput, answer: ok(Replication) },
  deleteReplication: { method: 'DELETE', path: '/api/replications/:id', access: 'administrator', summary: 'End a replication; what has arrived stays there', params: byId, answer: nothing },
  runReplication: { method: 'POST', path: '/api/replications/:id/run', access: 'operator', summary: 'Replicate now', params: byId, answer: accepted(Job) },
  fetchHostKey: { method: 'POST', path: '/api/replications/fetch-host-key', access: 'administrator', summary: 'Ask a machine for its key, to be confirmed', body: HostInput, answer: ok(HostKey) },
  previewReplication: { method: 'POST', path: '/api/replications/preview', access: 'administrator', summary: 'What there is at a target, and what a replication would do', body: ReplicationPreviewInput, answer: ok(ReplicationPreview) },
  listSenders: { method: 'GET', path: '/api/replication-senders', access: 'viewer', summary: 'Who may replicate to here, and this appliance’s own key', answer: ok(SenderList) },
  createSender: { method: 'POST', path: '/api/replication-senders', access: 'administrator', confirm: true, summary: 'Let a machine replicate to here', body: SenderInput, answer: created(Sender) },
  deleteSender: { method: 'DELETE', path: '/api/replication-senders/:id', access: 'administrator', confirm: true, summary: 'Let a machine in no more; what it sent stays', params: byId, answer: nothing },
} as const satisfies Routes;
