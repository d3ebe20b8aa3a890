/** One layer of a model: a square matrix of weights, row by row. */
export interface Layer {
  readonly size: number;
  readonly weights: Float64Array;
}

export function createLayer(size: number): Layer {
  const weights = Float64Array.from({ length: size * size }, (_, i) => ((i * 31) % 17) - 8);
  return { size, weights };
}

/** The layer's output for each input. */
export function multiply(
  { size, weights }: Layer,
  inputs: readonly (readonly number[])[],
): number[][] {
  const outputs = inputs.map(() => Array.from({ length: size }, () => 0));
  for (let row = 0; row < size; row++) {
    const ofRow = weights.subarray(row * size, (row + 1) * size);
    // The row stays in the processor's cache while it serves all inputs.
    for (const [at, input] of inputs.entries()) {
      let sum = 0;
      for (let column = 0; column < size; column++) {
        sum += (ofRow[column] ?? 0) * (input[column] ?? 0);
      }
      (outputs[at] as number[])[row] = sum;
    }
  }
  return outputs;
}
