import fc from 'fast-check';

/** The half of a pair of surrogates is no character. */
const [firstHalf, halves] = [0xd800, 0x800];
const point = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0, max: 0xffff - halves }),
  fc.integer({ min: 0, max: 0x10ffff - halves }),
);

/**
 * Any text that UTF-8 can hold. `fc.string({ unit: 'binary' })` is as much, and makes a table of a million characters first,
 * which takes more than a second of CPU in each process.
 *
 * @param maxLength in characters, each of one or two UTF-16 units
 */
export function anyText(maxLength: number): fc.Arbitrary<string> {
  return fc.array(point, { maxLength }).map((points) => {
    const all = points.map((at) => (at < firstHalf ? at : at + halves));
    return String.fromCodePoint(...all);
  });
}
