import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { noBrowser, OneBrowser } from '../console/browser.ts';
import { moduleUrl } from '../files.ts';
import { servers } from '../servers.ts';

const modules = [moduleUrl('test/fixtures/openapi/workers.ts')];

describe('URLs of procedures in a browser', { skip: noBrowser }, () => {
  const browser = new OneBrowser();

  for (const transport of servers) {
    const options = { modules, transport, workers: 1, httpPath: '/api' };

    test(`<img> shows a picture that a worker made, on ${transport}`, async (t) => {
      const { page, complaints } = await browser.show(t, { options });
      const size = await page.evaluate<unknown>(`(async () => {
        const image = document.createElement('img');
        image.src = '/api/picture?width=30&height=20';
        document.body.append(image);
        await image.decode();
        return [image.naturalWidth, image.naturalHeight];
      })()`);
      assert.deepEqual(size, [30, 20]);
      assert.deepEqual(complaints, []);
    });

    test(`fetch uploads a File as the bytes it has, on ${transport}`, async (t) => {
      const { page, complaints } = await browser.show(t, { options });
      const answers = await page.evaluate<unknown>(`(async () => {
        const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
        const upload = async (type) => {
          const body = new File([bytes], 'picture.bin', { type });
          const response = await fetch('/api/count?plus=0', { method: 'POST', body });
          return [response.status, await response.text()];
        };
        // A file of no known type goes out without a content type.
        return [await upload('image/bmp'), await upload('application/octet-stream'), (await upload(''))[0]];
      })()`);
      assert.deepEqual(answers, [[200, 'true'], [200, 'true'], 415]);
      assert.deepEqual(
        complaints.filter((text) => !text.includes('415')),
        [],
      );
    });

    test(`EventSource reads a stream to its result, on ${transport}`, async (t) => {
      const { page, complaints } = await browser.show(t, { options });
      const read = await page.evaluate<unknown>(`new Promise((resolve, reject) => {
        const values = [];
        const source = new EventSource('/api/ticks?n=3');
        source.onmessage = ({ data }) => values.push(JSON.parse(data));
        source.addEventListener('result', ({ data }) => {
          source.close();
          resolve({ values, result: JSON.parse(data) });
        });
        source.onerror = () => {
          source.close();
          reject(new Error('the stream broke after ' + values.length + ' values'));
        };
      })`);
      assert.deepEqual(read, { values: [1, 2, 3], result: 'end' });
      assert.deepEqual(complaints, []);
    });
  }
});
