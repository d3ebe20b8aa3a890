/** A whole list of parameters: none, a name, or names taken out of an object, none of them with a default or the rest. */
const plainList = /^\(\s*(?:[\w$]+|\{[^(){}[\]=.]*\})?\s*,?\s*\)\s*(?:=>|\{)/;

/** What may stand before the list: `async`, `function`, `*`, the name of a function or of a method. */
const beforeList = /^(?:async\s+)?(?:function\b)?\s*\*?\s*[\w$]*\s*/;

const loneParameter = /^(?:async\s+)?[\w$]+\s*=>/;

/** What reaches arguments that no parameter names. `\u`: a letter of a name may be written so. */
const hiddenAccess = /\b(?:arguments|eval)\b|\\u|\[native code\]/;

/**
 * Whether the handler's own text shows that it can't look at its second argument, the context: it has one parameter at
 * most, and nothing that reaches further arguments. Of a bound function, a parameter with a default or `...rest` nothing is
 * known: false.
 *
 * What a handler can't see need not cross to its worker: the caller's address alone costs the front end a system call,
 * 1 us of the 16 of a small pooled call. The text decides, and no measurement of what was read so far, since a handler
 * that reads the address in rare cases must have it in those, too.
 */
export function ignoresContext(handler: (...args: never) => unknown): boolean {
  const text = Function.prototype.toString.call(handler);
  if (hiddenAccess.test(text)) return false;
  return loneParameter.test(text) || plainList.test(text.replace(beforeList, ''));
}
