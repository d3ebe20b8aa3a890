/** The pages show what the benchmark has measured. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { mediaPicture, mediaSection, readMedia, writeMediaCharts } from '../../bench/media.ts';
import { withSection } from '../../scripts/section.ts';
import { read } from '../docs/pages.ts';
import { root } from '../files.ts';

it('the pages show the complete service as bench/results/media.json has it', async (t) => {
  const results = readMedia();
  for (const [page, section] of [
    ['README.md', mediaPicture(results, './bench/results')],
    ['docs/benchmark.md', mediaSection(results)],
  ] as const) {
    const text = read(page);
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
