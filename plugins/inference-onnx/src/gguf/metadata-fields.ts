import { inferenceErrors } from '../errors.ts'
import type { Metadata, MetadataValue } from './metadata.ts'

/** True for a whole number from 1 to 2^31 - 1. */
export function isCount(value: MetadataValue): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value < 2 ** 31
}

/** Typed access to metadata. Errors name the key. */
export class MetadataFields {
  readonly file: string
  readonly #metadata: Metadata
  readonly #prefix: string

  /** `prefix`: architecture whose keys are read, with a point at the end; empty for whole keys. */
  constructor(file: string, metadata: Metadata, prefix = '') {
    this.file = file
    this.#metadata = metadata
    this.#prefix = prefix
  }

  has(name: string): boolean {
    return this.#metadata.has(this.#prefix + name)
  }

  value(name: string): MetadataValue | undefined {
    return this.#metadata.get(this.#prefix + name)
  }

  /** Returns a number; undefined if the key is absent. */
  number(name: string): number | undefined {
    const value = this.value(name)
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value
    throw this.refuse(name, 'it is not a finite number')
  }

  /** Returns a whole number of at least 1; undefined if the key is absent. */
  count(name: string): number | undefined {
    const value = this.number(name)
    if (value === undefined || isCount(value)) return value
    throw this.refuse(name, `${value} is not a whole number above 0`)
  }

  requiredCount(name: string): number {
    const value = this.count(name)
    if (value !== undefined) return value
    throw this.refuse(name, 'it is missing')
  }

  text(name: string): string | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'string') return value
    throw this.refuse(name, 'it is not a text')
  }

  flag(name: string): boolean | undefined {
    const value = this.value(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.refuse(name, 'it is neither true nor false')
  }

  /** Returns a list; undefined if the key is absent. */
  list(name: string): readonly MetadataValue[] | undefined {
    const value = this.value(name)
    if (value === undefined || Array.isArray(value)) return value as readonly MetadataValue[] | undefined
    throw this.refuse(name, 'it is not a list')
  }

  refuse(name: string, reason: string) {
    const key = this.#prefix + name
    return inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${this.file}: ${key}: ${reason}`, {
      at: { file: this.file, path: key },
      data: { file: this.file, offset: 0 },
      hint: 'Download the file again, or convert the model again.'
    })
  }

  unsupported(name: string, value: unknown, supported: string) {
    const key = this.#prefix + name
    return inferenceErrors.create(
      'INF_ARCHITECTURE_UNSUPPORTED',
      `${this.file}: ${key} ${JSON.stringify(value)} is not supported; supported: ${supported}`,
      { at: { file: this.file, path: key }, data: { field: key, value, supported } }
    )
  }
}
