/** Thrown if a compilation exceeds its limits. */
export class CompileLimitExceeded extends Error {}

export interface CompileLimits {
  /** Steps of about 50 ns on a current CPU. Unlike time, they do not depend on the load of the machine. */
  readonly steps?: number
  readonly milliseconds?: number
}

/** Steps between two looks at the clock. */
const CLOCK_STEPS = 20_000

let stepsLeft = Number.POSITIVE_INFINITY
let stepsUntilClock = CLOCK_STEPS
let deadline = Number.POSITIVE_INFINITY

/** Runs a synchronous compilation. Throws {@link CompileLimitExceeded} beyond the limits. */
export function withLimits<T>(limits: CompileLimits, compile: () => T): T {
  stepsLeft = limits.steps ?? Number.POSITIVE_INFINITY
  deadline = performance.now() + (limits.milliseconds ?? Number.POSITIVE_INFINITY)
  try {
    return compile()
  } finally {
    stepsLeft = Number.POSITIVE_INFINITY
    deadline = Number.POSITIVE_INFINITY
  }
}

/** Called in every loop of a compilation. Throws {@link CompileLimitExceeded} beyond the limits. */
export function spendSteps(steps: number): void {
  stepsLeft -= steps
  stepsUntilClock -= steps
  if (stepsUntilClock <= 0) {
    stepsUntilClock = CLOCK_STEPS
    if (performance.now() > deadline) throw new CompileLimitExceeded('the time limit is over')
  }
  if (stepsLeft < 0) throw new CompileLimitExceeded('the limit on steps is exceeded')
}
