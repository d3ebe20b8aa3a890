import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { writeCharts } from '../../bench/charts.ts';
import { mediaPicture, mediaSection, readMedia, writeMediaCharts } from '../../bench/media.ts';
import {
  longSection,
  shortSection,
  shownFigures,
  withSection,
  writePages,
} from '../../bench/pages.ts';
import { readResults } from '../../bench/results.ts';
import { figure, suiteTables, targetsTable } from '../../bench/table.ts';
import { atLeast, atMost, target } from '../../bench/targets.ts';
import { root } from '../files.ts';
import { resultsOf, seriesOf } from './results-of.ts';

const page = 'before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nafter\n';

describe('the pages of the benchmark', () => {
  it('replace what stands between the markers, and nothing else', () => {
    const expected = 'before\n<!-- bench:start -->\n\nnew\n\n<!-- bench:end -->\nafter\n';
    assert.equal(withSection(page, 'bench', 'new'), expected);
    assert.equal(withSection(expected, 'bench', 'new'), expected);
    assert.equal(withSection(page, 'figures', 'new'), undefined);
  });

  it('are written where they have markers', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-pages-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const [marked, plain] = [join(folder, 'marked.md'), join(folder, 'plain.md')];
    writeFileSync(marked, page);
    writeFileSync(plain, 'plain');
    const missing = join(folder, 'missing.md');
    const sections = [marked, plain, missing].map((path) => [path, 'bench', 'new'] as const);
    assert.deepEqual(writePages(sections), [marked]);
    assert.match(readFileSync(marked, 'utf8'), /start -->\n\nnew\n\n<!--/);
    assert.equal(readFileSync(plain, 'utf8'), 'plain');
    assert.deepEqual(writePages(sections), []);
  });

  it('say of each figure its target, median, spread and load tool', () => {
    const rows = targetsTable([
      target('ratio | one', atLeast(2), 'wrk', [2.5, 3, 2.75]),
      target('delay', atMost(5, 'ms'), 'own client', [7.123, 8, 9]),
    ]).split('\n');
    assert.equal(rows[2], '| ratio \\| one | at least 2× | 2.75× (2.5 to 3) | yes | wrk |');
    assert.equal(rows[3], '| delay | at most 5 ms | 8 ms (7.12 to 9) | **no** | own client |');
  });

  it('show charts of what was measured, and no others', () => {
    const results = resultsOf([seriesOf({})]);
    const suites = results.suites.map((suite) => ({ ...suite, name: 'cluster' }));
    assert.doesNotMatch(longSection({ ...results, suites }, 'charts'), /\.svg/);
    const shown = readFileSync(join(root, 'docs/benchmark.md'), 'utf8').matchAll(
      /\(([^()]+\.svg)\)/g,
    );
    for (const [, path = ''] of shown) assert.ok(existsSync(join(root, 'docs', path)), path);
  });

  it('put each series beside the floor of its rounds', () => {
    const floor = seriesOf({ subject: 'uws-floor', role: 'floor', samples: [200, 100, 300] });
    const own = seriesOf({ samples: [100, 60, 150] });
    const { suites } = resultsOf([floor, own]);
    const text = suiteTables(suites[0]!);
    assert.match(text, /64 connections, load by wrk/);
    assert.match(text, /\| the tandem \| 100 \| 0.5 \(0.5 to 0.6\) \|/);
    assert.match(text, /\| the uws-floor \| 200 \| 1 \|/);
  });

  it('show six figures first, beside their rivals', () => {
    const results = readResults(join(root, 'bench/results/latest.json'));
    const text = shortSection(results);
    assert.equal(shownFigures.length, 6);
    for (const figure of shownFigures) assert.ok(text.includes(`| ${figure} |`), figure);
    assert.equal(text.split('\n').length, 2 + 6 + 2);
  });

  it('name commit, machine and command', () => {
    const results = resultsOf([seriesOf({})]);
    assert.match(shortSection(results), /abc1234/);
    const long = longSection(results, '../bench/results');
    for (const part of ['abc1234', 'a cpu', 'fastify 5.0.0', '`npm run bench --`', '2026-01-02']) {
      assert.ok(long.includes(part), part);
    }
  });

  it('show charts of what was measured', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bench-charts-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const floor = seriesOf({ subject: 'uws-floor', role: 'floor' });
    await writeCharts(resultsOf([floor, seriesOf({ samples: [50, 51, 52] })]), folder);
    assert.deepEqual(readdirSync(folder), ['http.svg']);
    const svg = readFileSync(join(folder, 'http.svg'), 'utf8');
    assert.match(svg, /^<svg/);
    assert.match(svg, />the tandem</);
  });

  it('show the light call beside thumbnails as its results file has it', async (t) => {
    const results = readMedia(join(root, 'bench/results/media.json'));
    for (const [page, section] of [
      ['README.md', mediaPicture(results, './bench/results')],
      ['docs/benchmark.md', mediaSection(results)],
    ] as const) {
      const text = readFileSync(join(root, page), 'utf8');
      assert.equal(withSection(text, 'media', section), text, page);
    }
    const folder = mkdtempSync(join(tmpdir(), 'bench-media-'));
    t.after(() => rmSync(folder, { recursive: true }));
    await writeMediaCharts(results, folder);
    for (const name of ['media-light.svg', 'media-dark.svg']) {
      const drawn = readFileSync(join(folder, name), 'utf8');
      assert.equal(drawn, readFileSync(join(root, 'bench/results', name), 'utf8'), name);
      for (const { name: service, p99 } of results.services) {
        assert.ok(drawn.includes(`>${service}<`) && drawn.includes(`>${p99.toFixed(1)} ms<`));
      }
    }
  });

  it('give three figures', () => {
    assert.deepEqual([0.123456, 12.345, 123456, Number.NaN].map(figure), [
      '0.123',
      '12.3',
      '123,000',
      '–',
    ]);
  });
});
