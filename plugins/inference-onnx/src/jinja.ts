import { Environment, Template } from '@huggingface/jinja'
import { analyseSyntax, MeteredInterpreter, type SyntaxAnalysis } from './metered-interpreter.ts'
import { strftime } from './strftime.ts'
import { MODEL_TEMPLATE_LIMITS, TemplateBudget, type TemplateLimits } from './template-budget.ts'

/** Maximum length of a range, as in the sandbox of Python's Jinja. */
const MAX_RANGE_LENGTH = 100_000

/** Jinja template, with the globals that transformers defines for chat templates. */
export class JinjaTemplate {
  readonly #program: unknown
  readonly #analysis: SyntaxAnalysis
  readonly #limits: TemplateLimits

  /** Throws the parser's error if the source is not a template, or an error that names the limit it exceeds. */
  constructor(source: string, limits: TemplateLimits = MODEL_TEMPLATE_LIMITS) {
    checkSource(source, limits)
    this.#limits = limits
    this.#program = new Template(source).parsed
    this.#analysis = analyseSyntax(this.#program)
  }

  /** Renders the template. Throws if it raises an error, uses an unknown name or filter, or exceeds its limits. */
  render(variables: Readonly<Record<string, unknown>>, now: Date): string {
    const budget = new TemplateBudget(this.#limits)
    // Template.render of the package would use the current date in the machine's locale.
    const environment = new Environment()
    for (const [name, value] of Object.entries({ ...globalsOf(budget, now), ...variables })) {
      environment.set(name, value)
    }
    return `${new MeteredInterpreter(environment, budget, this.#analysis).run(this.#program).value}`
  }
}

function checkSource(source: string, { sourceCharacters, whiteSpaceRun }: TemplateLimits): void {
  if (source.length > sourceCharacters) throw new Error(`it has more than ${sourceCharacters} characters`)
  let run = 0
  for (const character of source) {
    run = character.trim() === '' ? run + 1 : 0
    if (run > whiteSpaceRun) throw new Error(`it has more than ${whiteSpaceRun} characters of white space in a row`)
  }
}

function globalsOf(budget: TemplateBudget, now: Date): Record<string, unknown> {
  return {
    false: false,
    true: true,
    none: null,
    False: false,
    True: true,
    None: null,
    range: (first: unknown, second?: unknown, step: unknown = 1) => range(budget, first, second, step),
    raise_exception(message: unknown): never {
      throw new Error(typeof message === 'object' ? 'the template raised an error' : `${message}`)
    },
    strftime_now(format: unknown): string {
      if (typeof format !== 'string') throw new Error('strftime_now() needs a format')
      budget.spend(format.length / 8)
      return strftime(format, now)
    }
  }
}

function range(budget: TemplateBudget, first: unknown, second: unknown, step: unknown): number[] {
  const bounds = second === undefined || second === null ? [0, first] : [first, second]
  const [start, stop] = bounds
  if (typeof start !== 'number' || typeof stop !== 'number' || typeof step !== 'number') {
    throw new Error('range() needs numbers')
  }
  const length = step === 0 ? Number.NaN : Math.max(Math.ceil((stop - start) / step), 0)
  if (!(length <= MAX_RANGE_LENGTH)) throw new Error(`range() of more than ${MAX_RANGE_LENGTH} numbers, or with step 0`)
  budget.spend(length / 2)
  return Array.from({ length }, (_, index) => start + index * step)
}
