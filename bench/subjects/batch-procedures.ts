import Database from 'libsql';
import { type Env, inOrder, Router, Type } from '../../src/index.ts';
import { DistantDatabase } from './distant-database.ts';

/** Each work twice: one call a run (`single`), and many (`batched`). A call's result is known beforehand: see `expected`. */
export type Work = 'scan' | 'key' | 'matrix' | 'distant';

const rowCount = 20_000;
const size = 256;

/** What the nth call asks for. */
export function paramsOf(work: Work, n: number): object {
  const at = ((n * 37) % rowCount) + 1;
  return work === 'scan' ? { name: `name ${at}` } : { id: at };
}

export function expected(work: Work, n: number): unknown {
  const id = ((n * 37) % rowCount) + 1;
  if (work === 'matrix') return sumOf(multiply([vectorOf(id)])[0] ?? []);
  return { id, name: `name ${id}` };
}

interface Row {
  readonly id: number;
  readonly name: string;
}

export function setup() {
  const db = new Database(':memory:');
  db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, name TEXT NOT NULL)');
  const insert = db.prepare('INSERT INTO rows (id, name) VALUES (?, ?)');
  db.exec('BEGIN');
  for (let id = 1; id <= rowCount; id++) insert.run(id, `name ${id}`);
  db.exec('COMMIT');
  const many = 'IN (SELECT value FROM json_each(?))';
  return {
    // `name` has no index: each of these queries reads the whole table.
    byName: db.prepare('SELECT id, name FROM rows WHERE name = ?'),
    byNames: db.prepare(`SELECT id, name FROM rows WHERE name ${many}`),
    byId: db.prepare('SELECT id, name FROM rows WHERE id = ?'),
    byIds: db.prepare(`SELECT id, name FROM rows WHERE id ${many}`),
    distant: new DistantDatabase(8, 5),
  };
}

interface Environment extends Env {
  readonly state: ReturnType<typeof setup>;
}
const router = new Router<Environment>();
const ById = Type.Object({ id: Type.Integer() });
const ByName = Type.Object({ name: Type.String() });
const Found = Type.Object({ id: Type.Integer(), name: Type.String() });
const batch = { max: 32 };
const missing = () => new Error('no such row');

router.rpc({ name: 'scan.single', params: ByName, returns: Found }, ({ name }, { state }) => {
  const [row] = state.byName.all(name) as Row[];
  return row as Row;
});
router.rpc({ name: 'scan.batched', params: ByName, returns: Found, batch }, (params, { state }) => {
  const names = params.map(({ name }) => name);
  const rows = state.byNames.all(JSON.stringify(names)) as Row[];
  return inOrder(names, rows, ({ name }) => name, missing);
});

router.rpc({ name: 'key.single', params: ById, returns: Found }, ({ id }, { state }) => {
  return state.byId.get(id) as Row;
});
router.rpc({ name: 'key.batched', params: ById, returns: Found, batch }, (params, { state }) => {
  const ids = params.map(({ id }) => id);
  const rows = state.byIds.all(JSON.stringify(ids)) as Row[];
  return inOrder(ids, rows, ({ id }) => id, missing);
});

router.rpc({ name: 'matrix.single', params: ById, returns: Type.Number() }, ({ id }) => {
  return sumOf(multiply([vectorOf(id)])[0] ?? []);
});
router.rpc({ name: 'matrix.batched', params: ById, returns: Type.Number(), batch }, (params) =>
  multiply(params.map(({ id }) => vectorOf(id))).map(sumOf),
);

router.rpc({ name: 'distant.single', params: ById, returns: Found }, async ({ id }, { state }) => {
  const [row] = await state.distant.query([id]);
  return row as Row;
});
router.rpc(
  { name: 'distant.batched', params: ById, returns: Found, batch: { max: 64 } },
  async (params, { state }) => {
    const ids = params.map(({ id }) => id);
    return inOrder(ids, await state.distant.query(ids), ({ id }) => id, missing);
  },
);

const weights = Float64Array.from({ length: size * size }, (_, i) => ((i * 31) % 17) - 8);

function vectorOf(id: number): Float64Array {
  return Float64Array.from({ length: size }, (_, i) => (id + i) % 7);
}

function multiply(vectors: readonly Float64Array[]): Float64Array[] {
  const outputs = vectors.map(() => new Float64Array(size));
  let at = 0;
  for (; at + 4 <= vectors.length; at += 4) multiplyFour(vectors, outputs, at);
  for (; at < vectors.length; at++) {
    multiplyOne(vectors[at] as Float64Array, outputs[at] as Float64Array);
  }
  return outputs;
}

type Four = [Float64Array, Float64Array, Float64Array, Float64Array];

/** Each weight that is read serves four vectors. */
function multiplyFour(
  vectors: readonly Float64Array[],
  outputs: readonly Float64Array[],
  at: number,
): void {
  const [a, b, c, d] = vectors.slice(at, at + 4) as Four;
  const [outA, outB, outC, outD] = outputs.slice(at, at + 4) as Four;
  for (let row = 0, next = 0; row < size; row++) {
    let sumA = 0;
    let sumB = 0;
    let sumC = 0;
    let sumD = 0;
    for (let column = 0; column < size; column++) {
      const weight = weights[next++] as number;
      sumA += weight * (a[column] as number);
      sumB += weight * (b[column] as number);
      sumC += weight * (c[column] as number);
      sumD += weight * (d[column] as number);
    }
    outA[row] = sumA;
    outB[row] = sumB;
    outC[row] = sumC;
    outD[row] = sumD;
  }
}

function multiplyOne(vector: Float64Array, output: Float64Array): void {
  for (let row = 0, next = 0; row < size; row++) {
    let sum = 0;
    for (let column = 0; column < size; column++) {
      sum += (weights[next++] as number) * (vector[column] as number);
    }
    output[row] = sum;
  }
}

function sumOf(values: Iterable<number>): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}

export default router;
