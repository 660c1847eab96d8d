/** Thrown if a compilation takes longer than its limit. */
export class CompileTimeout extends Error {}

/** Checks between two looks at the clock. */
const CHECKS = 64

let deadline = Number.POSITIVE_INFINITY
let checks = 0

/** Runs a synchronous compilation. Throws {@link CompileTimeout} if it takes longer than `limitMs`. */
export function withTimeLimit<T>(limitMs: number, compile: () => T): T {
  deadline = performance.now() + limitMs
  try {
    return compile()
  } finally {
    deadline = Number.POSITIVE_INFINITY
  }
}

/** Called in every loop of a compilation. Throws {@link CompileTimeout} after its limit. */
export function checkTime(): void {
  if (++checks % CHECKS === 0 && performance.now() > deadline) throw new CompileTimeout('the time limit is over')
}
