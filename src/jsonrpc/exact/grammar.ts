/**
 * The grammar of JSON (RFC 8259) as a table: for each state and each character the next state. A walk
 * through the table takes the same time for every character, whatever the text is made of.
 */

/** In place of a next state: what a walk must do itself. `stop` and all above it are such steps. */
export const Step = {
  /** No JSON goes on like this. */
  stop: 0xfd,
  /** An array or an object opens. */
  open: 0xfe,
  /** The array or the object that is open closes. */
  close: 0xff,
} as const;

/** States of values inside an array, or inside an object: each has its own, which know what may follow. */
interface Values {
  /** Inside a string that is a value. */
  readonly string: number;
  /** Behind a value. */
  readonly after: number;
  /** The states of a number, and those of them in which the number may end. */
  readonly number: readonly number[];
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

/** Characters beyond Latin-1 share the last row: all of them may stand in strings, and nowhere else. */
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

  /** The states of a string from its opening quote, and where its closing quote leads. */
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

  /** `true`, `false` or `null`, begun in any of some states. */
  word(word: string, before: readonly number[], next: number): void {
    let states = before;
    for (const [i, letter] of Array.from(word).entries()) {
      const to = i === word.length - 1 ? next : this.state();
      for (const state of states) this.on(state, letter, to);
      states = [to];
    }
  }

  /** The values that may begin in any of some states, up to what closes around them. */
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

/** The next state, or a step, at `state * 256 + character`; a character above 255 counts as 255. */
export const table = builder.table();
