import { Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';

/** What every subject serves, whatever its protocol: the same schemas, checks and functions. */

export const addParams = Type.Object({ a: Type.Number(), b: Type.Number() });
export const burnParams = Type.Object({ steps: Type.Number() });

const addCheck = TypeCompiler.Compile(addParams);
const burnCheck = TypeCompiler.Compile(burnParams);

export interface Add {
  readonly a: number;
  readonly b: number;
}

export interface Burn {
  readonly steps: number;
}

/** Validates params for libraries that leave it to the method. @throws TypeError for invalid params */
export function checkedAdd(params: unknown): Add {
  if (!addCheck.Check(params)) throw new TypeError('invalid params');
  return params;
}

export function checkedBurn(params: unknown): Burn {
  if (!burnCheck.Check(params)) throw new TypeError('invalid params');
  return params;
}

export function add({ a, b }: Add): number {
  return a + b;
}

/** Does a fixed amount of work instead of running for a fixed time: with less of a core it takes longer. */
export function burn({ steps }: Burn): number {
  let x = 2463534242;
  for (let i = 0; i < steps; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
  }
  return x >>> 0;
}
