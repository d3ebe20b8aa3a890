import { orHang } from '../../or-hang.ts';
import { type Plan, plan, readAnswer, toRequest } from '../plans.ts';
import { isRefusal } from './caller.ts';
import type { Tally } from './tally.ts';
import { Upload } from './upload.ts';

const mb = 1_000_000;
/** Of a large body, in MB. */
const smallest = 5;
const largest = 9;
const padding = 'x'.repeat(largest * mb);

/** Uploads that are given up together, as clients behind one broken line. */
const givenUpAtOnce = 10;

/** So many held bodies are more than the server may keep in memory. */
const tooManyHeld = 40;

interface Large {
  readonly plan: Plan;
  readonly body: Buffer;
}

/** Large bodies: valid ones, ones that are held back for a while, and ones that never come whole. */
export class Bodies {
  readonly #url: string;
  readonly #tally: Tally;
  readonly #random: () => number;

  constructor(url: string, tally: Tally, random: () => number) {
    this.#url = url;
    this.#tally = tally;
    this.#random = random;
  }

  /**
   * One of each: uploads given up ten at a time, valid large calls to both placements, and bodies that are held.
   *
   * @param held resolves when the held ones may end
   * @param isFlood so many are held that the server must refuse some
   */
  async burst(held: () => Promise<void>, isFlood: boolean): Promise<void> {
    await Promise.all(
      Array.from({ length: isFlood ? tooManyHeld : 4 }, (_, i) => this.#hold(held, i % 2 === 0)),
    );
    await Promise.all(Array.from({ length: givenUpAtOnce }, () => this.#giveUp()));
    await Promise.all(['long', 'in.long', 'long', 'in.long'].map((method) => this.#call(method)));
  }

  #large(method: string): Large {
    const one = plan('echo', { method });
    const request = toRequest(one) as { params: object };
    const pad = padding.slice(0, (smallest + this.#random() * (largest - smallest)) * mb);
    const body = JSON.stringify({ ...request, params: { ...request.params, pad } });
    return { plan: one, body: Buffer.from(body) };
  }

  /** Several MB of a body, and then the client is gone. */
  async #giveUp(): Promise<void> {
    const { plan, body } = this.#large('long');
    this.#tally.begin(plan, this.#tally.row('upload given up'));
    this.#tally.left(plan);
    const upload = new Upload(this.#url, body);
    await upload.send(Math.floor(body.length * (0.3 + 0.6 * this.#random())));
    await upload.drop();
  }

  async #call(method: string): Promise<void> {
    const large = this.#large(method);
    this.#tally.begin(large.plan, this.#tally.row(method === 'long' ? 'large' : 'large inline'));
    const upload = new Upload(this.#url, large.body);
    await upload.send();
    await this.#end(upload, large);
  }

  /** Half of a body, and the rest after a while; or never. */
  async #hold(held: () => Promise<void>, goesOn: boolean): Promise<void> {
    const large = this.#large('long');
    this.#tally.begin(large.plan, this.#tally.row('held'));
    const upload = new Upload(this.#url, large.body);
    await upload.send(large.body.length >> 1);
    await held();
    if (goesOn) {
      await upload.send();
      await this.#end(upload, large);
    } else {
      this.#tally.left(large.plan);
      await upload.drop();
    }
  }

  /**
   * What has gone out whole is answered, unless the server refused the body without reading it: TCP then resets the connection under
   * what is on its way, and the answer may be lost. Neither that nor what the server cut off before has run.
   */
  async #end(upload: Upload, { plan }: Large): Promise<void> {
    const tally = this.#tally;
    const answer = await orHang('a large body', upload.answer()).catch(() => undefined);
    if (!upload.isWhole) tally.left(plan);
    if (answer === undefined) {
      if (upload.isWhole) tally.notAccepted(plan);
      return;
    }
    try {
      if (isRefusal(answer)) {
        tally.answered(plan, '-32000', true);
        return;
      }
      for (const { outcome } of readAnswer(plan, answer.text)) {
        // The main thread parses params up to a limit of its own.
        const isTooLarge = plan.method === 'in.long' && outcome === '-32004 params';
        tally.answered(plan, outcome, outcome === 'ok' || isTooLarge);
      }
    } catch (error) {
      tally.crossed(plan, `${String(error)}: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
  }
}
