/** A global symbol, so that what another copy of this package has made is recognised. */
const brand: unique symbol = Symbol.for('tandem-rpc.Passed') as typeof brand;

/**
 * What a call came to, as middleware sees it. Only `next` and `reply` make one: a middleware that forgets to return, or
 * that returns something else, is found at its first call.
 *
 * @typeParam X what was added to the context on the way; exists only in the type
 */
export class Passed<out X extends object = object> {
  /** @internal */
  readonly [brand] = true;
  declare readonly '~added': X;
  /** What the handler returned, before it is checked and made JSON. */
  readonly result: unknown;

  constructor(result: unknown) {
    this.result = result;
  }
}

export function isPassed(value: unknown): value is Passed {
  return typeof value === 'object' && value !== null && brand in value;
}
