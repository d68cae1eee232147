// What this domain answers, and who may ask.
import { list } from '../../base/schema/schema.ts';
import { nothing, ok, type Routes } from '../../http/routes.ts';
import {
  DismissInput,
  Input,
  InputCertificate,
  InputName,
  InputSettings,
  NewSenders,
  OneSender,
  SenderName,
} from './schema.ts';

// biome-ignore format: one route is one line, so that the list can be read as a table
export const routes = {
  listInputs: { method: 'GET', path: '/api/inputs', access: 'viewer', summary: 'The ways in for samples: their settings, and what was refused of whom since the store started', answer: ok(list(Input)) },
  getInput: { method: 'GET', path: '/api/inputs/:name', access: 'viewer', summary: 'One input', params: InputName, answer: ok(Input), editable: InputSettings },
  setInput: { method: 'PUT', path: '/api/inputs/:name', access: 'administrator', confirm: true, summary: 'Switch an input on or off, keep it to networks, and limit new series; at once', params: InputName, body: InputSettings, answer: ok(Input) },
  nameSender: { method: 'POST', path: '/api/inputs/:name/name-sender', access: 'administrator', confirm: true, summary: 'Say which label host a sender gets that names none, or take that back by null; it is no new sender any more', params: InputName, body: SenderName, answer: ok(Input) },
  refuseSender: { method: 'POST', path: '/api/inputs/:name/refuse-sender', access: 'administrator', confirm: true, summary: 'Take nothing of a sender by this input from now on', params: InputName, body: OneSender, answer: ok(Input) },
  withdrawRefusal: { method: 'POST', path: '/api/inputs/:name/withdraw-refusal', access: 'administrator', confirm: true, summary: 'Take again what a sender sends that was refused', params: InputName, body: OneSender, answer: ok(Input) },
  listNewSenders: { method: 'GET', path: '/api/new-senders', access: 'viewer', summary: 'Addresses of which nothing came before, for a day', answer: ok(NewSenders) },
  dismissNewSenders: { method: 'POST', path: '/api/new-senders/dismiss', access: 'operator', summary: 'Say that a new sender is known, or all of them: it is not announced any more', body: DismissInput, answer: nothing },
  getInputCertificate: { method: 'GET', path: '/api/input-certificate', access: 'viewer', summary: 'The certificate that those are shown who send by TLS', answer: ok(InputCertificate) },
  replaceInputCertificate: { method: 'POST', path: '/api/input-certificate/replace', access: 'administrator', confirm: true, summary: 'Make another certificate for those who send by TLS, or read the files of a CA again; who trusts the one before must be given the new one', answer: ok(InputCertificate) },
} as const satisfies Routes;
