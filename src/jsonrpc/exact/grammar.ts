/**
 * The grammar of JSON (RFC 8259) as a table: one row for each state, one column for each character, the next
 * state in the cell. A walk through the table takes the same time for every character.
 *
 *                    ...  '"'     ','     '1'     ']'     '['    ...  0xff (all above Latin-1)
 *     opened '['          string  stop    whole   close   open        stop
 *     value               string  stop    whole   stop    open        stop
 *     string              after   string  string  string  string      string
 *     after               stop    value   stop    close   stop        stop
 *     whole               stop    value   whole   close   stop        stop
 *     ...
 *
 * The rows for values exist twice: inside an array, where `]` closes, and inside an object, where `}` closes.
 */

/** Cells that are no next state: the walk acts itself. `stop` is the smallest of them. */
export const Step = {
  /** The text is not JSON. */
  stop: 0xfd,
  /** An array or an object opens. */
  open: 0xfe,
  /** The array or the object that is open closes. */
  close: 0xff,
} as const;

/** The states of a value. Arrays and objects have states of their own, since other characters follow a value. */
interface Values {
  /** Inside a string that is a value. */
  readonly string: number;
  /** Behind a value. */
  readonly after: number;
  /** All states of a number. */
  readonly number: readonly number[];
  /** The states in which a number may end. */
  readonly wholeNumber: readonly number[];
}

interface Inside extends Values {
  /** Behind the opening bracket or brace. */
  readonly opened: number;
  /** Before a value. */
  readonly value: number;
}

interface InsideObject extends Inside {
  /** Before the name of a member, behind a comma. */
  readonly name: number;
}

const blanks = ' \t\n\r';
const digits = '0123456789';
const hexDigits = `${digits}abcdefABCDEF`;

/** Characters above Latin-1 share the last column: all of them may stand in strings, and nowhere else. */
const width = 256;

class Builder {
  readonly #rows: Uint8Array[] = [];

  state(): number {
    this.#rows.push(new Uint8Array(width).fill(Step.stop));
    return this.#rows.length - 1;
  }

  on(state: number, characters: string, next: number): void {
    for (const character of characters) this.#row(state)[character.charCodeAt(0)] = next;
  }

  /**
   * Adds the states of a string.
   *
   * @param next the state behind the closing quote
   * @returns the state behind the opening quote
   */
  string(next: number): number {
    const inside = this.state();
    this.#row(inside).fill(inside, 0x20);
    this.on(inside, '"', next);
    const escaped = this.state();
    this.on(inside, '\\', escaped);
    this.on(escaped, '"\\/bfnrt', inside);
    let last = inside;
    for (let n = 0; n < 4; n++) {
      const hex = this.state();
      this.on(hex, hexDigits, last);
      last = hex;
    }
    this.on(escaped, 'u', last);
    return inside;
  }

  /** Adds the word `true`, `false` or `null`, which may begin in each of the states `before`. */
  word(word: string, before: readonly number[], next: number): void {
    let states = before;
    for (const [i, letter] of Array.from(word).entries()) {
      const to = i === word.length - 1 ? next : this.state();
      for (const state of states) this.on(state, letter, to);
      states = [to];
    }
  }

  /** Adds all values, which may begin in each of the states `before`; `closing` ends the array or object around them. */
  values(before: readonly number[], closing: string): Values {
    const after = this.state();
    const string = this.string(after);
    const minus = this.state();
    const zero = this.state();
    const whole = this.state();
    const point = this.state();
    const fraction = this.state();
    const e = this.state();
    const sign = this.state();
    const power = this.state();
    for (const word of ['true', 'false', 'null']) this.word(word, before, after);
    for (const from of before) {
      this.on(from, blanks, from);
      this.on(from, '"', string);
      this.on(from, '[{', Step.open);
      this.on(from, '-', minus);
      this.on(from, '0', zero);
      this.on(from, '123456789', whole);
    }
    this.on(minus, '0', zero);
    this.on(minus, '123456789', whole);
    this.on(whole, digits, whole);
    for (const from of [zero, whole]) this.on(from, '.', point);
    for (const from of [point, fraction]) this.on(from, digits, fraction);
    for (const from of [zero, whole, fraction]) this.on(from, 'eE', e);
    this.on(e, '+-', sign);
    for (const from of [e, sign, power]) this.on(from, digits, power);
    const wholeNumber = [zero, whole, fraction, power];
    for (const from of [after, ...wholeNumber]) {
      this.on(from, blanks, after);
      this.on(from, closing, Step.close);
    }
    const number = [minus, point, e, sign, ...wholeNumber];
    return { string, after, number, wholeNumber };
  }

  table(): Uint8Array {
    const table = new Uint8Array(this.#rows.length * width);
    for (const [state, row] of this.#rows.entries()) table.set(row, state * width);
    return table;
  }

  #row(state: number): Uint8Array {
    return this.#rows[state] as Uint8Array;
  }
}

const builder = new Builder();

function buildArray(): Inside {
  const opened = builder.state();
  const value = builder.state();
  const values = builder.values([opened, value], ']');
  builder.on(opened, ']', Step.close);
  for (const from of [values.after, ...values.wholeNumber]) builder.on(from, ',', value);
  return { ...values, opened, value };
}

function buildObject(): InsideObject {
  const opened = builder.state();
  const name = builder.state();
  const colon = builder.state();
  const value = builder.state();
  const values = builder.values([value], '}');
  const nameString = builder.string(colon);
  for (const from of [opened, name]) {
    builder.on(from, blanks, from);
    builder.on(from, '"', nameString);
  }
  builder.on(opened, '}', Step.close);
  builder.on(colon, blanks, colon);
  builder.on(colon, ':', value);
  for (const from of [values.after, ...values.wholeNumber]) builder.on(from, ',', name);
  return { ...values, opened, value, name };
}

export const insideArray: Inside = buildArray();
export const insideObject = buildObject();

/** The next state, or a Step, at `state * 256 + character`. A character above 255 counts as 255. */
export const table = builder.table();
