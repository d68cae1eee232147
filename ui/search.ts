// What `/` finds besides what the appliance answers, made by the build: the fields of the forms of settings, from the forms
// themselves, and the sections of the manual. It is a chunk of its own, read when somebody searches first.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Marked } from 'marked';
import { type ESTree, type Plugin, parseSync, Visitor } from 'vite';
import { anchor, documents } from './manual.ts';
import type { FoundSetting, ManualSection } from './src/frame/search/built.ts';
import { settings } from './src/frame/search/settings.ts';

const source = path.join(import.meta.dirname, 'src');
const docs = path.join(import.meta.dirname, '../docs');

/** The components of `forms/` and of PatternFly that have a label which a reader of the page sees. */
const FIELDS = new Set(
  'Field TextField SelectField ChoiceField LinesField CodeField Switch Checkbox FormGroup'.split(' '),
);

/** Every text that an expression can be, as both of `ca ? 'One' : 'The other'`. */
function textsOf(value: ESTree.Node | null): string[] {
  if (value === null) return [];
  if (value.type === 'JSXExpressionContainer') return textsOf(value.expression);
  if (value.type === 'ConditionalExpression') return [...textsOf(value.consequent), ...textsOf(value.alternate)];
  return value.type === 'Literal' && typeof value.value === 'string' ? [value.value] : [];
}

/** The labels of the fields in a source file that are written there; null where there is no field at all. */
export function fieldsOf(file: string): string[] | null {
  const { program, errors } = parseSync(file, readFileSync(path.join(source, file), 'utf8'));
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]?.message}`);
  const found: string[] = [];
  let any = false;
  new Visitor({
    JSXOpeningElement({ name, attributes }) {
      if (name.type !== 'JSXIdentifier' || !FIELDS.has(name.name)) return;
      any = true;
      for (const one of attributes) {
        if (one.type === 'JSXAttribute' && one.name.name === 'label') found.push(...textsOf(one.value));
      }
    },
  }).visit(program);
  return any ? [...new Set(found)] : null;
}

/** Of `forms` in a row of settings: files without their ending, or folders. */
export const isIn = (file: string, form: string) => file === `${form}.tsx` || file.startsWith(`${form}/`);

export const sources = () =>
  readdirSync(source, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.endsWith('.tsx'))
    .sort();

export function foundSettings(): FoundSetting[] {
  const files = sources();
  return settings.map(({ title, path: to, forms }) => {
    const of = files.filter((file) => forms.some((form) => isIn(file, form)));
    return { title, path: to, fields: [...new Set(of.flatMap((file) => fieldsOf(file) ?? []))] };
  });
}

export function manualSections(): ManualSection[] {
  return documents()
    .filter((file) => file.startsWith('manual/'))
    .sort()
    .flatMap((file) => {
      const headings = new Marked()
        .lexer(readFileSync(path.join(docs, file), 'utf8'))
        .flatMap((token) => (token.type === 'heading' ? [token.text as string] : []));
      const plain = (text: string) => text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');
      const page = `/docs/${file.replace(/\.md$/, '.html')}`;
      return headings.map((text, at) => ({
        title: plain(text),
        page: plain(headings[0] ?? file),
        path: at === 0 ? page : `${page}#${anchor(text)}`,
      }));
    });
}

const NAME = 'virtual:search';

export function search(): Plugin {
  return {
    name: 'search',
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    load(id) {
      if (id !== `\0${NAME}`) return undefined;
      return `export const settings = ${JSON.stringify(foundSettings())};\nexport const sections = ${JSON.stringify(manualSections())};\n`;
    },
  };
}
