import { ok, type Routes } from '../../http/routes.ts';
import {
  CertificateNames,
  CertificatePreview,
  CertificateState,
  GivenCertificate,
  InstalledCertificate,
  SigningRequest,
} from './schema.ts';

// biome-ignore format: one line for each
export const routes = {
  getCertificate: { method: 'GET', path: '/api/certificate', access: 'viewer', summary: 'The certificate of the web page, the one before it, and the signing request that is waited for', answer: ok(CertificateState) },
  createSigningRequest: { method: 'POST', path: '/api/certificate/create-request', access: 'administrator', confirm: true, summary: 'Make a key and a signing request of it, in place of one that is waited for', body: SigningRequest, answer: ok(CertificateState) },
  previewCertificate: { method: 'POST', path: '/api/certificate/preview', access: 'administrator', summary: 'What would be installed, and what is wrong with it', body: GivenCertificate, answer: ok(CertificatePreview) },
  installCertificate: { method: 'POST', path: '/api/certificate/install', access: 'administrator', confirm: true, summary: 'Install a certificate of the web page; it is taken back unless the page answers with it', body: InstalledCertificate, answer: ok(CertificateState) },
  selfSignCertificate: { method: 'POST', path: '/api/certificate/self-sign', access: 'administrator', confirm: true, summary: 'Make a key and a certificate of the appliance’s own, and install them', body: CertificateNames, answer: ok(CertificateState) },
  restoreCertificate: { method: 'POST', path: '/api/certificate/restore', access: 'administrator', confirm: true, summary: 'Put back the certificate that was in use before', answer: ok(CertificateState) },
} as const satisfies Routes;
