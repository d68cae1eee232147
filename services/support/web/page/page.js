'use strict';
// What to know of a category before it is chosen.
const NOTES = { cores: ' (may hold secrets)', image: ' (reads and compares all of the system image)' };
const byId = (id) => document.getElementById(id);
const size = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.ceil(bytes / 1e3)} kB`);
const say = (text) => {
  byId('problem').textContent = text;
  byId('problem').hidden = text === '';
};

/** The answer; throws what the appliance said was wrong. */
async function ask(method, path, body) {
  const response = await fetch(`/support/${path}`, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  if (response.ok) return response.status === 204 ? undefined : response.json();
  const problem = await response.json().catch(() => ({ detail: `The support service does not answer (${response.status}).` }));
  if (response.status === 401 && path !== 'session') enter(null);
  throw Object.assign(new Error([problem.detail, problem.action].filter(Boolean).join(' ')), { code: problem.code });
}
const orSay = (work) => work.then(() => true, (error) => (say(error.message), false));

function button(text, name, press, plain = true) {
  const made = document.createElement('button');
  made.type = 'button';
  made.textContent = text;
  made.setAttribute('aria-label', `${text} ${name}`);
  if (plain) made.className = 'plain';
  made.addEventListener('click', async () => {
    say('');
    made.disabled = true;
    await orSay(press());
    made.disabled = false;
    await draw();
  });
  return made;
}
function line(text, kind = '') {
  const made = document.createElement('p');
  made.textContent = text;
  made.className = kind;
  return made;
}

function article(bundle) {
  const made = document.createElement('article');
  made.setAttribute('aria-label', bundle.name);
  const head = document.createElement('h2');
  head.textContent = bundle.name;
  made.append(head);
  const bad = bundle.steps.filter((step) => step.state === 'failed' || step.state === 'timeout');
  const building = bundle.state === 'building';
  if (building) {
    const bar = document.createElement('progress');
    Object.assign(bar, { max: 100, value: bundle.percent });
    bar.setAttribute('aria-label', `Making ${bundle.name}`);
    made.append(bar, line(`${bundle.percent} %, ${bundle.step ?? 'starting'}, ${size(bundle.bytes)} collected`, 'quiet'));
  } else if (bundle.state === 'done') {
    made.append(line(`Made ${new Date(bundle.createdAt).toLocaleString()}, ${size(bundle.bytes)}${bundle.encrypted ? ', encrypted' : ''}.`));
    made.append(line(bad.length === 0 ? `All ${bundle.steps.length} steps ended well.` : `${bad.length} of ${bundle.steps.length} steps failed; the bundle is still useful.`));
  } else {
    made.append(line(bundle.state === 'cancelled' ? 'It was cancelled.' : `It could not be made. ${bundle.error ?? ''}`, 'bad'));
  }
  if (bundle.note) made.append(line(bundle.note));
  if (bad.length > 0) {
    const list = document.createElement('details');
    const summary = document.createElement('summary');
    summary.textContent = 'What is missing, and why';
    const items = document.createElement('ul');
    for (const step of bad) {
      const item = document.createElement('li');
      item.textContent = `${step.category}/${step.name}: ${step.error}`;
      items.append(item);
    }
    list.append(summary, items);
    made.append(list);
  }
  const actions = document.createElement('div');
  if (bundle.state === 'done' && bundle.place === 'usb') made.append(line(`It is on the disk ${bundle.device}, as ${bundle.file}.`));
  else if (bundle.state === 'done') {
    const link = document.createElement('a');
    Object.assign(link, { href: `/support/bundles/${bundle.id}/content`, download: bundle.file, className: 'button', textContent: 'Download' });
    link.setAttribute('aria-label', `Download ${bundle.name}`);
    actions.append(link, ' ');
    if (bad.length > 0 && !bundle.encrypted) actions.append(button('Run the failed steps again', bundle.name, () => ask('POST', `bundles/${bundle.id}/retry`)), ' ');
  }
  actions.append(button(building ? 'Cancel' : 'Delete', bundle.name, () => ask('DELETE', `bundles/${bundle.id}`)));
  made.append(actions);
  return made;
}

let timer;
async function draw() {
  clearTimeout(timer);
  if (byId('inside').hidden) return;
  let soon = 5000;
  try {
    const { bundles } = await ask('GET', 'bundles');
    const open = new Set([...document.querySelectorAll('article:has(details[open])')].map((one) => one.getAttribute('aria-label')));
    // A person who tabs through the page is not thrown out of it by its being drawn anew.
    const focused = document.activeElement?.getAttribute('aria-label');
    byId('bundles').replaceChildren(...bundles.map(article));
    for (const one of byId('bundles').children) if (open.has(one.getAttribute('aria-label'))) one.querySelector('details')?.setAttribute('open', '');
    if (focused) byId('bundles').querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    if (bundles.some((bundle) => bundle.state === 'building')) soon = 700;
  } catch (error) {
    say(error.message);
  }
  timer = setTimeout(draw, soon);
}

async function enter(user) {
  byId('sign-in').hidden = user !== null;
  byId('inside').hidden = user === null;
  if (user === null) return;
  byId('state').textContent = `Signed in as ${user}.`;
  const { categories, onRequest, disks } = await ask('GET', 'bundle-options');
  byId('categories').replaceChildren(byId('categories').querySelector('legend'));
  for (const name of [...categories, ...onRequest]) {
    const label = document.createElement('label');
    label.className = 'check';
    const box = document.createElement('input');
    Object.assign(box, { type: 'checkbox', name: 'category', value: name, checked: categories.includes(name) });
    if (onRequest.includes(name)) box.dataset.onRequest = '';
    label.append(box, ` ${name}${NOTES[name] ?? ''}`);
    byId('categories').append(label);
  }
  const place = byId('make').elements.place;
  while (place.options.length > 1) place.remove(1);
  for (const { device, title, bytes } of disks) place.add(new Option(`Disk ${device} (${title}, ${size(bytes)})`, `usb:${device}`));
  await draw();
}

byId('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  say('');
  const { user, password, code } = event.target.elements;
  try {
    const signedIn = await ask('POST', 'session', { user: user.value, password: password.value, code: code.value });
    byId('code').hidden = true;
    password.value = '';
    await enter(signedIn.user);
  } catch (error) {
    say(error.message);
    const wantsCode = error.code === 'second_factor_required' || error.code === 'wrong_code';
    byId('code').hidden = !wantsCode;
    // With a code the same password is sent again.
    if (!wantsCode) password.value = '';
    (wantsCode ? code : password).focus();
  }
  code.value = '';
});
byId('make').addEventListener('submit', async (event) => {
  event.preventDefault();
  say('');
  const { place, pseudonyms, recipient } = event.target.elements;
  const boxes = [...event.target.querySelectorAll('[name=category]')];
  const [kind, device = ''] = place.value.split(':');
  const usual = boxes.every((box) => box.checked !== ('onRequest' in box.dataset));
  const categories = usual ? [] : boxes.filter((box) => box.checked).map((box) => box.value);
  await orSay(ask('POST', 'bundles', { categories, place: kind, device, pseudonyms: pseudonyms.checked, recipient: recipient.value.trim() }));
  await draw();
});
byId('sign-out').addEventListener('click', async () => {
  await orSay(ask('DELETE', 'session'));
  byId('state').textContent = 'Signed out.';
  await enter(null);
});
ask('GET', 'session').then(({ user }) => enter(user || null), (error) => (say(error.message), enter(null)));
