type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles if two types are the same: `same<A, B>(true)`. */
export const same = <A, B>(proof: Same<A, B>): void => void proof;
