// What several alerts say in the same way.
import { plural } from '../../base/words.ts';

export const sentences = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

export const inDays = (days: number) => (days < 1 ? 'within a day' : `in ${plural(Math.floor(days), 'day')}`);
