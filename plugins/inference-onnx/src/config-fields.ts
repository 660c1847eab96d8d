import { inferenceErrors } from './errors.ts'

/** Typed access to a configuration file, with messages that name the field. */
export class ConfigFields {
  readonly file: string
  readonly values: Record<string, unknown>

  constructor(file: string, values: Record<string, unknown>) {
    this.file = file
    this.values = values
  }

  count(name: string, fallback?: number): number {
    const value = this.values[name] ?? fallback
    if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 2 ** 31) return value
    throw this.refuse(name, `${JSON.stringify(value)} is not a whole number above 0`)
  }

  number(name: string, fallback: number): number {
    const value = this.values[name] ?? fallback
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
    throw this.refuse(name, `${JSON.stringify(value)} is not a number above 0`)
  }

  boolean(name: string, fallback: boolean): boolean {
    const value = this.values[name] ?? fallback
    if (typeof value === 'boolean') return value
    throw this.refuse(name, `${JSON.stringify(value)} is neither true nor false`)
  }

  refuse(name: string, reason: string) {
    return inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${this.file}: ${name}: ${reason}`, {
      at: { file: this.file, path: name },
      data: { file: this.file, offset: 0 }
    })
  }

  unsupported(name: string, value: unknown, supported: string) {
    return inferenceErrors.create(
      'INF_ARCHITECTURE_UNSUPPORTED',
      `${this.file}: ${name} ${JSON.stringify(value)} is not supported; supported: ${supported}`,
      { at: { file: this.file, path: name }, data: { field: name, value, supported } }
    )
  }
}
