// The browser's part of passkeys: making one, giving one, and why there are none.
import {
  type AuthenticationResponseJSON,
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';

const isAddress = (host: string) => /^[\d.]+$/.test(host) || host.includes(':');

/** Why none can be made or given here, in words; null when they can. */
export function whyNoPasskeys(): string | null {
  const host = window.location.hostname.replace(/^\[|\]$/g, '');
  if (isAddress(host)) {
    return `A passkey belongs to a host name, and this page is open under the address ${host}. Open it under the name of the appliance, with a certificate that the browser trusts.`;
  }
  if (!window.isSecureContext || !browserSupportsWebAuthn()) return 'This browser offers no passkeys here.';
  return null;
}

/** What the browser refused, in words that say what to do. */
function explained(error: unknown): Failure {
  const { name, message } = error as Error;
  const of = (title: string, detail: string, action?: string) =>
    new Failure({ type: 'about:blank', title, status: 0, code: 'passkey', detail, ...(action && { action }) });
  if (/certificate/i.test(message)) {
    return of(
      'The browser does not trust this page',
      'It gives passkeys only to pages whose certificate it trusts.',
      'Install a certificate of an authority that it knows, then try again.',
    );
  }
  if (name === 'InvalidStateError')
    return of('There is one already', 'This device has a passkey of yours for this page.');
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return of(
      'No passkey was given',
      'It was cancelled, took too long, or there is none for this page.',
      'Try again, or use another way.',
    );
  }
  return of('The browser could not do it', message);
}

/** Whether the browser is what failed, and not the appliance. */
const byBrowser = async <T>(ceremony: Promise<T>): Promise<T> =>
  ceremony.catch((error: unknown) => {
    throw explained(error);
  });

export async function addPasskey(name: string): Promise<Schemas['FinishedFactor']> {
  const { publicKey } = await answerOf(client.POST('/api/passkeys/start', { body: { name } }));
  const optionsJSON = publicKey as unknown as PublicKeyCredentialCreationOptionsJSON;
  const { id, response }: RegistrationResponseJSON = await byBrowser(startRegistration({ optionsJSON }));
  const { clientDataJSON, attestationObject, transports } = response;
  const body = { name, id, clientDataJSON, attestationObject, transports: transports ?? [] };
  return answerOf(client.POST('/api/passkeys/finish', { body }));
}

/** What the browser's authenticator signed, for a sign-in or a confirmation. */
export async function givePasskey(what: 'sign-in' | 'confirmation'): Promise<Schemas['UsedPasskey']> {
  const params = { query: { for: what } };
  const { publicKey } = await answerOf(client.POST('/api/passkeys/start-use', { params }));
  const optionsJSON = publicKey as unknown as PublicKeyCredentialRequestOptionsJSON;
  const { id, response }: AuthenticationResponseJSON = await byBrowser(startAuthentication({ optionsJSON }));
  const { clientDataJSON, authenticatorData, signature, userHandle } = response;
  return { id, clientDataJSON, authenticatorData, signature, ...(userHandle && { userHandle }) };
}
