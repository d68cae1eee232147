// `export-configuration.js DIR` prints the configuration of the database in DIR: see state/export.ts. A program of its own,
// because it runs when the machine is in trouble, and the whole of akd takes ten times as long to be read.
import process from 'node:process';
import { exportConfiguration } from './state/export.ts';

const [directory, ...more] = process.argv.slice(2);
if (directory === undefined || more.length > 0) {
  console.error('usage: export-configuration.js DIRECTORY');
  process.exit(2);
}
process.stdout.write(`${JSON.stringify(exportConfiguration(directory), null, 1)}\n`);
