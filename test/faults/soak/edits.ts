/** A version of the file that all procedures depend on: what it is, and what becomes of it. */
export interface Edit {
  readonly name: string;
  readonly text: string;
  /** It never settles by itself: the reload after it may come before it is given up. */
  readonly hangs: boolean;
}

export function goodEdit(version: number): string {
  return `export const version = ${version};\nexport const setup = () => {};\n`;
}

const good = goodEdit(-1);

/** Those that settle at once come first: a short soak takes them alone. */
export const badEdits: readonly Edit[] = [
  { name: 'process.exit at the top level', text: `process.exit(1);\n${good}`, hangs: false },
  { name: 'a syntax error', text: 'export const version = ;', hangs: false },
  {
    name: 'a throw just after the load',
    text: `setImmediate(() => { throw new Error('thrown late'); });\n${good}`,
    hangs: false,
  },
  {
    name: 'a setup() that fails',
    text: "export const version = -1;\nexport const setup = () => { throw new Error('no setup'); };",
    hangs: false,
  },
  { name: 'an endless loop at the top level', text: `for (;;);\n${good}`, hangs: true },
  {
    name: 'a top-level await that hangs',
    text: `await new Promise(() => {});\n${good}`,
    hangs: true,
  },
];
