/** What a call on the proxy does: its name, and what stood in the parentheses. */
export type ProxyCall = (name: string, args: readonly unknown[]) => unknown;

/** An object whose members are `own`, and namespaces of procedures: `root.math.add(...)`. */
export function createProxy(own: object, call: ProxyCall): unknown {
  return follow({ ...own }, '', call);
}

function follow(target: object, path: string, call: ProxyCall): unknown {
  const members = path === '' ? target : {};
  const children = new Map<string, unknown>();
  return new Proxy(target, {
    get(_, key) {
      // Whatever looks at a value without being asked to (await, JSON.stringify, a template, a debugger)
      // must find what any object has there, not a procedure that it would call.
      if (typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in members) {
        return Reflect.get(target, key);
      }
      let child = children.get(key);
      if (child === undefined) {
        // A function of its own: only a function's proxy can be called.
        child = follow(() => {}, path === '' ? key : `${path}.${key}`, call);
        children.set(key, child);
      }
      return child;
    },
    apply: (_target, _this, args: unknown[]) => call(path, args),
  });
}
