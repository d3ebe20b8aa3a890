import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseStory, printedPattern } from './story.ts';

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`;

describe('the story of a page', () => {
  it('is its files and its commands, in their order', () => {
    const page = [
      fence('ts', '// a.ts\nexport {};'),
      'prose',
      fence('console', "$ curl -d '[1,\n2]' \\\n  host   # a remark\n[]\n$ true"),
      fence('text', 'a picture'),
      fence('dockerfile', '# Dockerfile\nFROM node'),
      fence('json', '// a.json\n{}'),
    ].join('\n');
    assert.deepEqual(parseStory(page), [
      { kind: 'file', name: 'a.ts', text: '// a.ts\nexport {};\n' },
      { kind: 'command', line: "curl -d '[1,\n2]' \\\n  host", printed: '[]\n' },
      { kind: 'command', line: 'true', printed: '' },
      { kind: 'file', name: 'Dockerfile', text: '# Dockerfile\nFROM node\n' },
      { kind: 'file', name: 'a.json', text: '{}\n' },
    ]);
  });

  it('has no block that nothing runs', () => {
    assert.throws(() => parseStory(fence('ts', 'const fragment = 1;')), /that nothing runs/);
    assert.throws(() => parseStory(fence('', 'no language')), /no language/);
    assert.throws(() => parseStory(fence('console', 'no command')), /output without a command/);
  });
});

describe('what a page prints, as a pattern', () => {
  it('takes … for any text of a line, and a line of it for any lines', () => {
    assert.match('took 5 ms', printedPattern('took … ms\n'));
    assert.doesNotMatch('took 5\nms', printedPattern('took … ms\n'));
    assert.match('a\nb\nc', printedPattern('a\n…\n'));
    assert.match('a', printedPattern('a\n…\n'));
    assert.doesNotMatch('ab', printedPattern('a\n…\n'));
    assert.match('a\nb\nc', printedPattern('a\n…\nc\n'));
    assert.match('a\nc', printedPattern('a\n…\nc\n'));
    assert.doesNotMatch('a\nb\nd', printedPattern('a\n…\nc\n'));
  });

  it('takes everything else to the letter, but for the line breaks of JSON', () => {
    assert.match('{"a":[1,2]}', printedPattern('{"a":\n  [1,2]}\n'));
    assert.doesNotMatch('{"a":[1,2,3]}', printedPattern('{"a":[1,2]}'));
    assert.doesNotMatch('xa.b', printedPattern('a.b'));
    assert.doesNotMatch('aXb', printedPattern('a.b'));
  });
});
