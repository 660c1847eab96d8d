import { inferenceErrors } from './errors.ts'

/** Typed access to the fields of a configuration file. Errors name the field. */
export class ConfigFields {
  readonly file: string
  readonly values: Record<string, unknown>
  readonly #section: string

  /** `section`: prefix of the fields in messages, for example `text_config.`; empty at the top level. */
  constructor(file: string, values: Record<string, unknown>, section = '') {
    this.file = file
    this.values = values
    this.#section = section
  }

  /** Returns the fields of a nested object; null if there is none. */
  section(name: string): ConfigFields | null {
    const value = this.values[name] ?? null
    if (value === null) return null
    if (typeof value !== 'object' || Array.isArray(value)) {
      throw this.refuse(name, `${JSON.stringify(value)} is not an object`)
    }
    return new ConfigFields(this.file, value as Record<string, unknown>, `${this.#section}${name}.`)
  }

  /** Returns the same fields, with defaults for missing ones. */
  withDefaults(defaults: Readonly<Record<string, unknown>>): ConfigFields {
    return new ConfigFields(this.file, { ...defaults, ...this.values }, this.#section)
  }

  count(name: string, fallback?: number): number {
    const value = this.values[name] ?? fallback
    if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 2 ** 31) return value
    throw this.refuse(name, `${JSON.stringify(value)} is not a whole number above 0`)
  }

  number(name: string, fallback?: number): number {
    const value = this.values[name] ?? fallback
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
    throw this.refuse(name, `${JSON.stringify(value)} is not a number above 0`)
  }

  /** Returns the number; null if the field is null or absent. */
  optionalNumber(name: string): number | null {
    return (this.values[name] ?? null) === null ? null : this.number(name)
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.values[name] ?? fallback
    if (typeof value === 'boolean') return value
    throw this.refuse(name, `${JSON.stringify(value)} is neither true nor false`)
  }

  refuse(name: string, reason: string) {
    const path = `${this.#section}${name}`
    return inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${this.file}: ${path}: ${reason}`, {
      at: { file: this.file, path },
      data: { file: this.file, offset: 0 }
    })
  }

  unsupported(name: string, value: unknown, supported: string) {
    const path = `${this.#section}${name}`
    return inferenceErrors.create(
      'INF_ARCHITECTURE_UNSUPPORTED',
      `${this.file}: ${path} ${JSON.stringify(value)} is not supported; supported: ${supported}`,
      { at: { file: this.file, path }, data: { field: path, value, supported } }
    )
  }
}
