import { Router, Type } from 'tandem-rpc';

export const text = new Router();

const Stats = Type.Object({
  characters: Type.Integer(),
  lines: Type.Integer(),
  words: Type.Integer(),
  uniqueWords: Type.Integer(),
  topWords: Type.Array(Type.Object({ word: Type.String(), count: Type.Integer() })),
  longestLine: Type.Object({ line: Type.Integer(), length: Type.Integer() }),
});

/** A run of letters and digits, with apostrophes and hyphens inside: don't, well-known. */
const wordPattern = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;

function countWords(content: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [word] of content.toLowerCase().matchAll(wordPattern)) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function mostFrequent(counts: Map<string, number>, top: number) {
  return [...counts]
    .sort(([wordA, a], [wordB, b]) => b - a || (wordA < wordB ? -1 : 1))
    .slice(0, top)
    .map(([word, count]) => ({ word, count }));
}

function findLongest(lines: readonly string[]): { line: number; length: number } {
  let longest = { line: 1, length: 0 };
  lines.forEach((line, index) => {
    if (line.length > longest.length) longest = { line: index + 1, length: line.length };
  });
  return longest;
}

text.rpc(
  {
    name: 'stats',
    doc: 'Words, unique words, most frequent words and longest line of a text of any size.',
    params: Type.Object({
      text: Type.String(),
      top: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 5 })),
    }),
    returns: Stats,
  },
  ({ text: content, top }) => {
    const lines = content.split(/\r\n|\n|\r/);
    const counts = countWords(content);
    let words = 0;
    for (const count of counts.values()) words += count;
    return {
      characters: content.length,
      lines: lines.length,
      words,
      uniqueWords: counts.size,
      topWords: mostFrequent(counts, top),
      longestLine: findLongest(lines),
    };
  },
);
