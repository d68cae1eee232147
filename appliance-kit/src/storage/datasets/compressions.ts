// What each compression is good for, in a sentence of cost and a sentence of benefit.
import { component, type Static, Type } from '../../base/schema/schema.ts';

export const CompressionChoice = component('CompressionChoice', {
  name: Type.String({ description: 'a value of the property `compression`' }),
  title: Type.String(),
  benefit: Type.String(),
  cost: Type.String(),
  recommended: Type.Boolean(),
});
export type CompressionChoice = Static<typeof CompressionChoice>;

type Words = Pick<CompressionChoice, 'title' | 'benefit' | 'cost'>;

const WORDS: Record<string, Words> = {
  off: {
    title: 'No compression',
    benefit: 'Nothing is spent on compressing. Right for what is compressed already, such as video.',
    cost: 'Everything takes its full size, also long runs of zeros.',
  },
  lz4: {
    title: 'lz4',
    benefit: 'Takes a third to a half off text and logs, and gives up at once on what does not compress.',
    cost: 'Hardly any: compressing is faster than most disks write. This is what to choose unless space is short.',
  },
  lzjb: {
    title: 'lzjb',
    benefit: 'Readable by every ZFS there ever was.',
    cost: 'Slower than lz4 and compresses less: only for pools that very old systems have to import.',
  },
  zle: {
    title: 'zle (only zeros)',
    benefit: 'Takes out runs of zeros, and nothing else.',
    cost: 'Next to nothing. For what is compressed or encrypted already but has holes.',
  },
};

function zstd(name: string): Words {
  const level = name === 'zstd' ? 3 : Number(name.slice(5));
  const title = name === 'zstd' ? 'zstd (level 3)' : `zstd, level ${level}`;
  if (level <= 3) {
    return {
      title,
      benefit: 'A quarter to a third smaller than lz4 on text, and as quick to read.',
      cost: 'About two to four times the work of lz4 when writing; fine for most machines.',
    };
  }
  if (level <= 9) {
    return {
      title,
      benefit: 'A little smaller than level 3; reading is as quick.',
      cost: 'Several times the work of level 3 when writing: for data that is written slowly and kept long.',
    };
  }
  return {
    title,
    benefit: 'As small as it gets; reading is as quick as with a low level.',
    cost: 'Writing is slow, down to a few megabytes a second for each core: for archives only.',
  };
}

function gzip(name: string): Words {
  const level = name === 'gzip' ? 6 : Number(name.slice(5));
  return {
    title: name === 'gzip' ? 'gzip (level 6)' : `gzip, level ${level}`,
    benefit: level <= 3 ? 'About as small as zstd at its lowest level.' : 'About as small as zstd at level 3.',
    cost: 'Slower than zstd both ways: only where zstd is not to be had.',
  };
}

/** All that the platform has, in the order in which they are best considered. */
export function compressionChoices(names: readonly string[]): CompressionChoice[] {
  return names.map((name) => ({
    name,
    ...(WORDS[name] ?? (name.startsWith('zstd') ? zstd(name) : gzip(name))),
    recommended: name === 'lz4',
  }));
}
