/**
 * A model for docs/recipes/model.md, written as ONNX's protobuf: `scores` is the sum of each row of `features`.
 * A run goes once round a loop for each thousand of the largest feature, so that a test decides how long it computes.
 * Field numbers are those of onnx.proto3.
 */

/** A tag and a varint below 2^28. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

const int = (field: number, value: number): number[] => [...varint(field * 8), ...varint(value)];

function bytes(field: number, content: Uint8Array | readonly number[] | string): number[] {
  const raw = typeof content === 'string' ? Buffer.from(content) : content;
  return [...varint(field * 8 + 2), ...varint(raw.length), ...raw];
}

const float = 1;
const int64 = 7;
const bool = 9;

/** A value of a graph: its name, type and shape. A dimension with a name may be of any size. */
function value(name: string, type: number, shape: readonly (number | string)[]): number[] {
  const dimensions = shape.flatMap((size) =>
    bytes(1, typeof size === 'number' ? int(1, size) : bytes(2, size)),
  );
  const tensor = [...int(1, type), ...bytes(2, dimensions)];
  return [...bytes(1, name), ...bytes(2, bytes(1, tensor))];
}

function node(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: readonly number[][] = [],
): number[] {
  return [
    ...inputs.flatMap((name) => bytes(1, name)),
    ...outputs.flatMap((name) => bytes(2, name)),
    ...bytes(4, operator),
    ...attributes.flatMap((attribute) => bytes(5, attribute)),
  ];
}

interface Graph {
  readonly name: string;
  readonly nodes: readonly number[][];
  readonly constants?: readonly number[][];
  readonly inputs: readonly number[][];
  readonly outputs: readonly number[][];
}

function graph({ name, nodes, constants = [], inputs, outputs }: Graph): number[] {
  return [
    ...nodes.flatMap((one) => bytes(1, one)),
    ...bytes(2, name),
    ...constants.flatMap((one) => bytes(5, one)),
    ...inputs.flatMap((one) => bytes(11, one)),
    ...outputs.flatMap((one) => bytes(12, one)),
  ];
}

/** @param columns how many features a row has */
export function createModel(columns: number): Uint8Array {
  const body = graph({
    name: 'round',
    nodes: [
      node('Identity', ['go'], ['goes on']),
      // It changes nothing, exactly.
      node('Neg', ['before'], ['negated']),
      node('Neg', ['negated'], ['after']),
    ],
    inputs: [value('round', int64, []), value('go', bool, []), value('before', float, ['n', 1])],
    outputs: [value('goes on', bool, []), value('after', float, ['n', 1])],
  });
  const ones = Buffer.from(new Float32Array(columns).fill(1).buffer);
  const weights = [
    ...int(1, columns),
    ...int(1, 1),
    ...int(2, float),
    ...bytes(8, 'weights'),
    ...bytes(9, ones),
  ];
  const each = Buffer.from(new Float32Array([1000]).buffer);
  const thousand = [...int(2, float), ...bytes(8, 'thousand'), ...bytes(9, each)];
  const yes = [...int(2, bool), ...bytes(8, 'yes'), ...bytes(9, [1])];
  const attribute = (name: string, content: readonly number[]): number[] => [
    ...bytes(1, name),
    ...content,
  ];
  const main = graph({
    name: 'scores',
    nodes: [
      node(
        'ReduceMax',
        ['features'],
        ['largest'],
        [attribute('keepdims', [...int(3, 0), ...int(20, 2)])],
      ),
      node('Div', ['largest', 'thousand'], ['thousands']),
      node('Cast', ['thousands'], ['rounds'], [attribute('to', [...int(3, int64), ...int(20, 2)])]),
      node('MatMul', ['features', 'weights'], ['sums']),
      node(
        'Loop',
        ['rounds', 'yes', 'sums'],
        ['scores'],
        [attribute('body', [...bytes(6, body), ...int(20, 5)])],
      ),
    ],
    constants: [weights, thousand, yes],
    inputs: [value('features', float, ['n', columns])],
    outputs: [value('scores', float, ['n', 1])],
  });
  // IR version 8 with operators of version 17.
  return Uint8Array.from([...int(1, 8), ...bytes(7, main), ...bytes(8, int(2, 17))]);
}
