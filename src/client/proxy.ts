/** Handles a call on the proxy: `root.math.add(1)` has the name `math.add` and the args `[1]`. */
export type ProxyCall = (name: string, args: readonly unknown[]) => unknown;

/** Creates an object with the members of `own`. Every other member is a namespace of procedures: `root.math.add(...)`. */
export function createProxy(own: object, call: ProxyCall): unknown {
  return follow({ ...own }, '', call);
}

function follow(target: object, path: string, call: ProxyCall): unknown {
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
        child = follow(() => {}, path === '' ? key : `${path}.${key}`, call);
        children.set(key, child);
      }
      return child;
    },
    apply: (_target, _this, args: unknown[]) => call(path, args),
  });
}
