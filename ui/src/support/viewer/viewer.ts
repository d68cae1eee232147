// The program of a support bundle's viewer: what the bundle is, its files, and the charts of its last day. It is opened
// from a file, without a network; supportd has put what it shows into the page.
import { type DayOfStatistics, showDay } from './day.ts';

interface Manifest {
  readonly bundle: string;
  readonly createdAt: string;
  readonly version: string;
  readonly note?: string;
  readonly steps: readonly {
    readonly category: string;
    readonly name: string;
    readonly state: string;
    readonly error?: string;
    readonly bytes?: number;
    readonly seconds?: number;
  }[];
}
declare const manifest: Manifest;
declare const statistics: DayOfStatistics | null;

const byId = (id: string) => document.getElementById(id) as HTMLElement;

function showHead(): void {
  const failed = manifest.steps.filter(({ state }) => state !== 'done').length;
  byId('name').textContent = document.title = manifest.bundle;
  byId('said').textContent = [
    `Made ${new Date(manifest.createdAt).toLocaleString()} by Cistern ${manifest.version}.`,
    failed === 0
      ? `All ${manifest.steps.length} steps succeeded.`
      : `${failed} of ${manifest.steps.length} steps did not succeed; the rest is complete.`,
    ...(manifest.note ? [manifest.note] : []),
  ].join(' ');
}

let chosen: HTMLElement | null = null;
function showFile(path: string, why: string, button: HTMLElement): void {
  byId('read').textContent = path;
  byId('why').textContent = why;
  (byId('content') as HTMLIFrameElement).src = path.split('/').map(encodeURIComponent).join('/');
  if (chosen !== null) byId('read').scrollIntoView({ block: 'nearest' });
  chosen?.removeAttribute('aria-current');
  button.setAttribute('aria-current', 'true');
  chosen = button;
}

/** `why`: why it is not complete, or an empty text. */
function addFile(path: string, note = '', why = ''): HTMLElement {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.textContent = path;
  if (note !== '') {
    const small = document.createElement('small');
    small.textContent = note;
    small.className = why === '' ? 'quiet' : 'bad';
    button.append(small);
  }
  button.addEventListener('click', () => showFile(path, why, button));
  item.append(button);
  byId('files').append(item);
  return button;
}

const size = (bytes: number) =>
  bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB` : `${bytes} B`;

function listFiles(): void {
  showFile('README', '', addFile('README'));
  addFile('manifest.json');
  for (const { category, name, state, error, bytes = 0, seconds = 0 } of manifest.steps) {
    const why = state === 'done' ? '' : `${state}: ${error}`;
    addFile(`${category}/${name}`, [size(bytes), `${seconds} s`, why].filter(Boolean).join(', '), why);
  }
  const filter = byId('filter') as HTMLInputElement;
  filter.addEventListener('input', () => {
    const wanted = filter.value.toLowerCase();
    for (const item of byId('files').children as HTMLCollectionOf<HTMLElement>) {
      item.hidden = !item.textContent.toLowerCase().includes(wanted);
    }
  });
}

showHead();
listFiles();
showDay(statistics, byId('day'), byId('charts'), byId('nothing'));
