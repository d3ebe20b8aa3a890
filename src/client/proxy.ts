/** Handles a call on the proxy: `root.math.add(1)` has the name `math.add` and the args `[1]`. */
export type ProxyCall = (name: string, args: readonly unknown[]) => unknown;

/**
 * Gives an object members that lead to procedures: `root.math.add(...)`. What the object at the root has itself, it keeps.
 *
 * @param path the names so far; '' at the root
 */
export function createProxy(target: object, path: string, call: ProxyCall): unknown {
  const members = path === '' ? target : {};
  const children = new Map<string, unknown>();
  return new Proxy(target, {
    get(_, key) {
      // `await`, JSON.stringify, templates and debuggers read members of any value. They must find the members of an
      // ordinary object, not a procedure, which they would call.
      if (typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in members) {
        return Reflect.get(target, key);
      }
      let child = children.get(key);
      if (child === undefined) {
        // The target is a function, since only the proxy of a function can be called.
        child = createProxy(() => {}, path === '' ? key : `${path}.${key}`, call);
        children.set(key, child);
      }
      return child;
    },
    apply: (_target, _this, args: unknown[]) => call(path, args),
  });
}
