/** Limits of one rendering. */
export interface TemplateLimits {
  readonly sourceCharacters: number
  /** Longest sequence of white space in the source: the lexer takes quadratic time for it. */
  readonly whiteSpaceRun: number
  /** Work; one step is the evaluation of a node, 0.5 to 1 µs. */
  readonly steps: number
  /** Longest text, intermediate ones included. */
  readonly textCharacters: number
}

/** For templates of a model's folder. They render on the caller's thread, so that these limits only stop a defect. */
export const MODEL_TEMPLATE_LIMITS: TemplateLimits = {
  sourceCharacters: 4 * 1024 * 1024,
  whiteSpaceRun: 20_000,
  steps: 100_000_000,
  textCharacters: 128 * 1024 * 1024
}

/** For templates of requests: about 30 ms of work, and texts of half a million tokens. */
export const REQUEST_TEMPLATE_LIMITS: TemplateLimits = {
  sourceCharacters: 32 * 1024,
  whiteSpaceRun: 500,
  steps: 40_000,
  textCharacters: 2 * 1024 * 1024
}

/** Counts the work of one rendering. All methods throw above a limit, before the work is done. */
export class TemplateBudget {
  readonly limits: TemplateLimits
  #steps = 0

  constructor(limits: TemplateLimits) {
    this.limits = limits
  }

  spend(steps: number): void {
    this.#steps += steps
    // Written so that NaN fails too.
    if (!(this.#steps <= this.limits.steps)) throw new Error(`it takes more than ${this.limits.steps} steps`)
  }

  /** Pays for a text of `length` characters that an operation creates. */
  text(length: number): void {
    this.checkLength(length)
    this.spend(length / COPIED)
  }

  /** Checks the length of a text without paying for it: V8 concatenates without a copy. */
  checkLength(length: number): void {
    if (!(length <= this.limits.textCharacters)) {
      throw new Error(`it creates a text of more than ${this.limits.textCharacters} characters`)
    }
  }
}

/** Characters per step of operations on text, by their cost. */
export const COPIED = 512
export const SEARCHED = 512
export const CASE_CHANGED = 256
export const MATCHED = 32
/** Split into single characters. */
export const SPLIT = 16
