// OpenID Connect: the code flow with PKCE (OpenID Connect Core 1.0, RFC 7636), by openid-client.
import type { Configuration, IDToken } from 'openid-client';
import type { Reach } from '../../alerting/destinations/index.ts';
import { fail } from '../../base/problems/problem.ts';
import { fetchBy } from './fetch.ts';
import type { Tell } from './ldap.ts';
import type { OidcInput } from './schema.ts';

/** Clocks may differ so much. */
const LEEWAY_SECONDS = 5 * 60;
/** How long what the provider says of itself is believed; after a failure it is asked anew. */
const KNOWN_MS = 60 * 60 * 1000;
const FAILED_MS = 3_000;
const CALLBACK = '/sign-in/callback';

const library = () => import('openid-client');

/** What is kept until the browser comes back. */
export interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly page: string;
  /** It must have been asked for a proof just now. */
  readonly fresh: boolean;
}

export interface Identity {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
  /** How the provider has checked who it is, as it says itself. */
  readonly acr: string | null;
  readonly amr: readonly string[];
  readonly idToken: string;
}

/** A claim by its name, or by a path. */
function claimOf(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let at: unknown = claims;
  for (const part of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<string, unknown>)[part];
  }
  return at;
}

/** The reasons of a chain of errors, the last of which says the most. */
function reasons(error: unknown): string {
  const said: string[] = [];
  for (let one = error; one instanceof Error && said.length < 4; one = one.cause) {
    const { error: code, error_description: description } = one as { error?: string; error_description?: string };
    said.push([one.message, code, description].filter((part) => part !== undefined && part !== '').join(', '));
  }
  const cause = (error as Error).cause as { claims?: object; reason?: string; claim?: string } | undefined;
  if (cause?.claim !== undefined) said.push(`claim ${cause.claim}`);
  return [...new Set(said)]
    .join(': ')
    .replace(/[\r\n]+/g, ' ')
    .slice(0, 400);
}

/** What is wrong with a provider, and what to do. */
export function explain(error: unknown): [found: string, action: string] {
  const said = reasons(error);
  const is = (pattern: RegExp) => pattern.test(said);
  if (is(/login_required|interaction_required|access_denied/))
    return ['The provider has not signed you in.', 'Try again.'];
  if (is(/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|timeout|aborted|larger than/i))
    return [`The provider cannot be reached: ${said}.`, 'Local accounts work.'];
  if (is(/CERT|SELF_SIGNED|certificate/i))
    return [
      `The certificate of the provider is not believed: ${said}.`,
      'An administrator gives the authority that has signed it.',
    ];
  if (is(/invalid_client|unauthorized_client/))
    return [
      'The provider does not know this appliance as its client, or the secret is wrong.',
      'Check client and secret.',
    ];
  if (is(/"?nonce"?/)) return ['The answer is not to what was asked: its nonce is another one.', 'Begin again.'];
  if (is(/state/)) return ['The answer is not to what was asked: its state is another one.', 'Begin again.'];
  if (is(/issuer|"iss"/)) return [`The answer is of another issuer: ${said}.`, 'Check the issuer in the settings.'];
  if (is(/"aud"|audience/)) return ['The answer is for another client.', 'Check the client in the settings.'];
  if (is(/"exp"|"iat"|"nbf"|auth_time|too much time|expired/))
    return [`The answer is too old, or the clocks differ by more than five minutes: ${said}.`, 'Compare the clocks.'];
  if (is(/signature|"alg"|JWS|JWK|applicable|algorithm/i))
    return [`What the provider has signed is not right: ${said}.`, 'Ask who runs the provider.'];
  return [`The provider's answer cannot be used: ${said}.`, 'Ask an administrator to test the provider.'];
}

export class OpenId {
  readonly #settings: OidcInput;
  readonly #reach: Reach;
  readonly #now: () => number;
  #known: { readonly configuration: Promise<Configuration>; until: number } | undefined;

  constructor(settings: OidcInput, reach: Reach, monotonic: () => number) {
    this.#settings = settings;
    this.#reach = reach;
    this.#now = monotonic;
  }

  /** Asked once, however many wait; a failure is believed for a moment, so that nobody has it asked over and over. */
  #configuration(): Promise<Configuration> {
    if (this.#known !== undefined && this.#known.until > this.#now()) return this.#known.configuration;
    const known = { configuration: this.#ask(), until: this.#now() + KNOWN_MS };
    this.#known = known;
    known.configuration.catch(() => {
      known.until = this.#now() + FAILED_MS;
    });
    return known.configuration;
  }

  async #ask(): Promise<Configuration> {
    const { issuer, clientId, clientSecret, ca } = this.#settings;
    const { clockTolerance, customFetch, discovery, enableNonRepudiationChecks, None } = await library();
    const metadata = { [clockTolerance]: LEEWAY_SECONDS, ...(clientSecret && { client_secret: clientSecret }) };
    const fetched = { [customFetch]: fetchBy(this.#reach, ca) as never, timeout: 10 };
    const client = clientSecret ? undefined : None();
    const configuration = await discovery(new URL(issuer), clientId, metadata, client, fetched);
    // What comes straight from the provider over TLS need not be signed, as the library sees it; here it must be.
    enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** Where to send the browser, and what to keep until it comes back. Throws what `explain` explains. */
  async begin(page: string, fresh: boolean): Promise<{ url: string; begun: Begun }> {
    const configuration = await this.#configuration();
    const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } =
      await library();
    const begun = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier(), page, fresh };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: `${page}${CALLBACK}`,
      scope: this.#settings.scopes,
      ...{ state: begun.state, nonce: begun.nonce },
      ...{ code_challenge: await calculatePKCECodeChallenge(begun.verifier), code_challenge_method: 'S256' },
      ...(fresh && { max_age: '0', prompt: 'login' }),
    });
    return { url: url.href, begun };
  }

  /** Who came back. `query`: of the address that the provider has sent the browser to. */
  async finish({ state, nonce, verifier, page, fresh }: Begun, query: string): Promise<Identity> {
    const configuration = await this.#configuration();
    const { authorizationCodeGrant, fetchUserInfo } = await library();
    const back = new URL(`${page}${CALLBACK}`);
    back.search = query;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await authorizationCodeGrant(configuration, back, {
      ...{ ...checks, ...(fresh && { maxAge: 0 }) },
    }).catch((error: unknown) => {
      // It may have other keys or addresses by now: the next one asks anew.
      this.#known = undefined;
      throw error;
    });
    const claims = tokens.claims() as IDToken;
    let all: Readonly<Record<string, unknown>> = claims;
    const { nameClaim, groupsClaim } = this.#settings;
    const lacks = [nameClaim, groupsClaim].some((path) => claimOf(claims, path) === undefined);
    if (lacks && configuration.serverMetadata().userinfo_endpoint !== undefined) {
      all = { ...(await fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims };
    }
    const name = claimOf(all, nameClaim);
    if (typeof name !== 'string' || name === '') {
      throw fail(
        'service_unavailable',
        `The provider does not say ${nameClaim}.`,
        'Name another claim, or another scope.',
      );
    }
    const groups = claimOf(all, groupsClaim);
    const list = Array.isArray(groups) ? groups : typeof groups === 'string' ? [groups] : [];
    return {
      // A subject is the same for ever only together with who says it.
      ...{ subject: `${claims.iss} ${claims.sub}`, name, idToken: tokens.id_token as string },
      groups: list.filter((one) => typeof one === 'string'),
      acr: typeof claims.acr === 'string' ? claims.acr : null,
      amr: Array.isArray(claims.amr) ? claims.amr.filter((one) => typeof one === 'string') : [],
    };
  }

  /** Where to sign out at the provider; null: it has no such address. */
  async endUrl(page: string): Promise<string | null> {
    const configuration = await this.#configuration();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    const { buildEndSessionUrl } = await library();
    return buildEndSessionUrl(configuration, { post_logout_redirect_uri: `${page}/sign-in` }).href;
  }

  /** What the provider says of itself, step by step. */
  async test(tell: Tell): Promise<void> {
    const { issuer, pages } = this.#settings;
    const what = `Ask ${issuer} what it is`;
    let configuration: Configuration;
    try {
      configuration = await this.#configuration();
    } catch (error) {
      tell(what, false, ...explain(error));
      return;
    }
    const {
      authorization_endpoint,
      token_endpoint,
      jwks_uri,
      id_token_signing_alg_values_supported,
      end_session_endpoint,
    } = configuration.serverMetadata();
    tell(
      what,
      true,
      `It is ${configuration.serverMetadata().issuer}, signs by ${(id_token_signing_alg_values_supported ?? []).join(', ')}.`,
    );
    const endpoints = { authorization: authorization_endpoint, token: token_endpoint, keys: jwks_uri };
    for (const [name, url] of Object.entries(endpoints))
      if (url === undefined)
        tell(`Look for the address for ${name}`, false, 'It says none.', 'Ask who runs the provider.');
    if (jwks_uri !== undefined) {
      try {
        const answer = await fetchBy(this.#reach, this.#settings.ca)(jwks_uri, {});
        const { keys } = (await answer.json()) as { keys: unknown[] };
        tell(`Ask ${jwks_uri} for its keys`, keys.length > 0, `There are ${keys.length}.`);
        const date = Date.parse(answer.headers.get('date') ?? '');
        const skew = Number.isNaN(date) ? 0 : Math.round((date - Date.now()) / 1000);
        tell(
          'Compare the clocks',
          Math.abs(skew) < LEEWAY_SECONDS,
          `They differ by ${Math.abs(skew)} s.`,
          'Synchronise them.',
        );
      } catch (error) {
        tell(`Ask ${jwks_uri} for its keys`, false, ...explain(error));
      }
    }
    tell(
      'Sign out there',
      true,
      end_session_endpoint === undefined ? 'It offers no such thing.' : `By ${end_session_endpoint}.`,
    );
    const redirects = pages.map((page) => `${page}${CALLBACK}`).join(', ');
    tell('Register this appliance there', true, `Redirect addresses: ${redirects}.`);
  }
}
