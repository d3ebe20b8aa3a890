const quote = 0x22;
const backslash = 0x5c;

/**
 * Where the last element of a list begins. Separators within quotes do not separate (RFC 9110, 5.6.1 and 5.6.4).
 *
 * @param end the position behind that element
 * @param separator one character
 * @returns undefined where a quote is not closed, so that nobody can say what the element is
 */
export function lastElement(list: string, end: number, separator: string): number | undefined {
  const separates = separator.charCodeAt(0);
  let isQuoted = false;
  for (let i = end - 1; i >= 0; i--) {
    const unit = list.charCodeAt(i);
    if (unit === quote && !isEscaped(list, i)) isQuoted = !isQuoted;
    else if (unit === separates && !isQuoted) return i + 1;
  }
  return isQuoted ? undefined : 0;
}

function isEscaped(text: string, at: number): boolean {
  let before = at;
  while (text.charCodeAt(before - 1) === backslash) before--;
  return (at - before) % 2 === 1;
}
