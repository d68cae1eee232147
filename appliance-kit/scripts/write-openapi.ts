// Writes appliance-kit/openapi.json from the routes of every domain. `--check` says whether the file is up to date instead.
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { describeApi } from '../src/appliance.ts';

const file = new URL('../openapi.json', import.meta.url);
const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
const text = `${JSON.stringify(describeApi(manifest.version), null, 2)}\n`;

if (process.argv.includes('--check')) {
  if (readFileSync(file, 'utf8') !== text) {
    console.error('appliance-kit/openapi.json is out of date: run `npm run openapi -w appliance-kit`');
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}
