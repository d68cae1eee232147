// Going to an OpenID provider and back: the browser leaves the page to sign in, and opens a window to confirm.
import { answerOf, client } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';

const TO = 'cistern.sign-in.to';
const CONFIRMED = 'cistern.confirmed';
const GIVE_UP_SECONDS = 120;

const urlOf = async (id: string, what: 'sign-in' | 'confirmation') =>
  (await answerOf(client.POST('/api/providers/{id}/start', { params: { path: { id } }, body: { for: what } }))).url;

/** The page is left; `to` is where it goes on afterwards. */
export async function signInAt(id: string, to: string | null): Promise<void> {
  const url = await urlOf(id, 'sign-in');
  window.sessionStorage.setItem(TO, to ?? '');
  window.location.assign(url);
}

/** In the page that the provider has sent the browser back to, after the appliance was told. */
export function broughtBack(): { confirming: boolean; to: string | null } {
  const to = window.sessionStorage.getItem(TO);
  window.sessionStorage.removeItem(TO);
  // Whoever signs in has left a note of where to go on; the window of a confirmation has none.
  if (to === null) new BroadcastChannel(CONFIRMED).postMessage('confirmed');
  return { confirming: to === null, to: to === '' ? null : to };
}

/** Ends when somebody has signed in there, in a window of its own; fails when that is closed before. */
export async function confirmAt(id: string): Promise<void> {
  // Before anything is waited for: a browser opens no window that nobody asked for.
  const opened = window.open('', CONFIRMED, 'popup,width=520,height=720');
  if (opened === null) {
    throw new Failure({
      ...{ type: 'about:blank', title: 'The browser has opened no window', status: 0, code: 'popup' },
      ...{
        detail: 'The provider is asked in a window of its own.',
        action: 'Allow windows for this page, and try again.',
      },
    });
  }
  const channel = new BroadcastChannel(CONFIRMED);
  try {
    opened.location.assign(await urlOf(id, 'confirmation'));
    await new Promise<void>((resolve, reject) => {
      let closedFor = 0;
      const looking = setInterval(() => {
        // A provider may cut the tie between the windows, which looks as if it were closed: nobody is hurried.
        closedFor = opened.closed ? closedFor + 1 : 0;
        if (closedFor < GIVE_UP_SECONDS) return;
        clearInterval(looking);
        reject(
          new Failure({
            ...{ type: 'about:blank', title: 'It was not confirmed', status: 0, code: 'popup' },
            ...{ detail: 'The window of the provider was closed.', action: 'Try again.' },
          }),
        );
      }, 1_000);
      channel.onmessage = () => {
        clearInterval(looking);
        resolve();
      };
    });
  } finally {
    channel.close();
    opened.close();
  }
}
