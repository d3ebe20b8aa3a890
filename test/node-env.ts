import type { Lifetime } from './files.ts';

/** Sets NODE_ENV until a test or a suite ends. @param value undefined: it is not set */
export function setNodeEnv(t: Lifetime, value: string | undefined): void {
  const { NODE_ENV } = process.env;
  const set = (next: string | undefined): void => {
    if (next === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = next;
  };
  set(value);
  t.after(() => set(NODE_ENV));
}
