import { type Add, add, type Burn, burn } from './work.ts';

/** The module that the rivals' worker threads run: piscina calls the default export or a named one. */
export default function pooledAdd(params: Add): number {
  return add(params);
}

export function pooledBurn(params: Burn): number {
  return burn(params);
}
