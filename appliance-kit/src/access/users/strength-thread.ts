// The thread that estimates passwords: a program of its own, so that the lists of words are in memory only while somebody
// chooses one.
import { parentPort } from 'node:worker_threads';
import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';
import type { Question } from './strength.ts';

/** What is behind it makes a password no worse, and takes long to look at. */
const LOOKED_AT = 128;

const zxcvbn = new ZxcvbnFactory({
  dictionary: { ...common.dictionary, ...english.dictionary },
  graphs: common.adjacencyGraphs,
  translations: english.translations,
  maxLength: LOOKED_AT,
});

parentPort?.on('message', ({ id, password, inputs }: Question) => {
  const { score, feedback } = zxcvbn.check(password.slice(0, LOOKED_AT), [...inputs]);
  parentPort?.postMessage({ id, score, warning: feedback.warning ?? null, suggestions: feedback.suggestions });
});
