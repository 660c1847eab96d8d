import { type Context, createContext, Script } from 'node:vm'
import { invalidAdapter } from './invalid-adapter.ts'

/** Time for all expressions of one adapter. Those of public adapters need less than a millisecond. */
const MAX_MS = 1000
const script = new Script('texts.map(text => expression.test(text))')

/**
 * Compares names of modules with regular expressions from the configuration of an adapter, which may come from others:
 * an expression can take exponential time, so all of them together have a limit.
 */
export class ModulePatterns {
  readonly #file: string
  #context: Context | undefined
  #left = MAX_MS

  /** `file`: configuration of the adapter, for errors. */
  constructor(file: string) {
    this.#file = file
  }

  /** Compiles a Python regular expression. For module names, JavaScript's syntax has the same meaning. */
  compile(field: string, pattern: string): RegExp {
    try {
      return new RegExp(`^(?:${pattern})$`)
    } catch {
      const reason = `${field} contains ${JSON.stringify(pattern)}, which is not a valid regular expression`
      throw invalidAdapter(this.#file, reason)
    }
  }

  /** Returns whether the whole of each text matches. Throws `INF_ADAPTER_INVALID` if that takes too long. */
  test(field: string, pattern: string, texts: readonly string[]): readonly boolean[] {
    const expression = this.compile(field, pattern)
    this.#context ??= createContext()
    Object.assign(this.#context, { expression, texts })
    const start = performance.now()
    try {
      return script.runInContext(this.#context, { timeout: Math.max(1, Math.ceil(this.#left)) })
    } catch {
      throw invalidAdapter(
        this.#file,
        `${field} contains a regular expression that cannot be evaluated within ${MAX_MS} ms`,
        'Write the names of the modules without nested repetitions.'
      )
    } finally {
      this.#left -= performance.now() - start
    }
  }
}
