import { closest } from '@svc/plugin-sdk'
import type { ItemProblem } from './item.ts'

/** Problems of a file that are reported. */
const MAX_PROBLEMS = 20

/**
 * Reads fields of front matter and collects what is wrong with them, each with its line. Methods return a default if a
 * field is absent or wrong.
 */
export class Fields {
  readonly #file: string
  readonly #lineOf: (path: readonly string[]) => number
  readonly #path: readonly string[]
  readonly #value: Readonly<Record<string, unknown>>
  readonly #problems: ItemProblem[]
  readonly #known = new Set<string>()

  constructor(
    file: string,
    lineOf: (path: readonly string[]) => number,
    value: Readonly<Record<string, unknown>>,
    problems: ItemProblem[],
    path: readonly string[] = []
  ) {
    this.#file = file
    this.#lineOf = lineOf
    this.#value = value
    this.#problems = problems
    this.#path = path
  }

  problem(key: string, message: string, hint: string): void {
    if (this.#problems.length >= MAX_PROBLEMS) return
    const path = key === '' ? this.#path : [...this.#path, key]
    const subject = path.length === 0 ? '' : `${path.join('.')}: `
    this.#problems.push({
      code: 'NEWS_ITEM_INVALID',
      file: this.#file,
      line: this.#lineOf(path),
      message: `${subject}${message}`,
      hint
    })
  }

  /** Returns a value whatever its type. */
  raw(key: string): unknown {
    this.#known.add(key)
    return this.#value[key]
  }

  text(key: string, rules: { readonly max: number; readonly required?: boolean }): string {
    const value = this.raw(key)
    if (value === undefined || value === null || (typeof value === 'string' && value.trim() === '')) {
      if (rules.required === true) this.problem(key, 'is missing', `add ${key}: …`)
      return ''
    }
    const text = typeof value === 'string' ? value.trim() : null
    if (text === null) this.problem(key, `must be text, not ${kindOf(value)}`, 'put the value in quotes')
    else if (text.length > rules.max) {
      this.problem(key, `has ${text.length} characters; at most ${rules.max} are allowed`, 'shorten it')
    } else if (/\p{Cs}/u.test(text) || hasControl(text)) {
      this.problem(key, 'contains a control character', 'remove it')
    } else return text
    return ''
  }

  flag(key: string, fallback: boolean): boolean {
    const value = this.raw(key)
    if (value === undefined || value === null) return fallback
    if (typeof value === 'boolean') return value
    this.problem(key, `must be true or false, not ${kindOf(value)}`, 'write true or false')
    return fallback
  }

  share(key: string): number | null {
    const value = this.raw(key)
    if (value === undefined || value === null) return null
    if (typeof value === 'number' && value >= 0 && value <= 1) return value
    this.problem(key, 'must be a number from 0 to 1', 'write a number such as 0.9')
    return null
  }

  list(key: string, max: number): readonly string[] {
    const value = this.raw(key)
    if (value === undefined || value === null) return []
    const isList = Array.isArray(value) && value.every(each => typeof each === 'string' && each.trim() !== '')
    if (!isList) this.problem(key, 'must be a list of texts', `write ${key}: [one, two]`)
    else if (value.length > max) this.problem(key, `has ${value.length} entries; at most ${max}`, 'remove some')
    else return [...new Set(value.map(each => String(each).trim()))]
    return []
  }

  choice<A extends string>(key: string, choices: readonly A[]): A | null {
    const value = this.raw(key)
    if (value === undefined || value === null) return null
    const found = choices.find(each => each === value)
    if (found === undefined) this.problem(key, `${shown(value)} is unknown`, suggestion(String(value), choices))
    return found ?? null
  }

  /** Returns a nested list of fields, or null. */
  nested(key: string): Fields | null {
    const value = this.raw(key)
    if (value === undefined || value === null) return null
    if (isRecord(value)) return new Fields(this.#file, this.#lineOf, value, this.#problems, [...this.#path, key])
    this.problem(key, `must be a list of fields, not ${kindOf(value)}`, `write fields below ${key}:`)
    return null
  }

  keys(): readonly string[] {
    return Object.keys(this.#value)
  }

  /** Reports fields that were not read. `more`: further names for suggestions. */
  refuseOthers(more: readonly string[] = []): void {
    for (const key of this.keys()) {
      if (this.#known.has(key)) continue
      if (this.#problems.length >= MAX_PROBLEMS) return
      this.problem(key, 'is unknown', suggestion(key, [...this.#known, ...more]))
    }
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function suggestion(word: string, candidates: readonly string[]): string {
  const near = closest(word, candidates)
  return near === undefined ? `use one of: ${candidates.join(', ')}` : `did you mean ${near}?`
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === null ? 'nothing' : typeof value
}

function shown(value: unknown): string {
  return typeof value === 'string' ? `"${value.slice(0, 60)}"` : kindOf(value)
}

function hasControl(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  return /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.test(text)
}
