import { defined } from './defined.ts'

/** Location of an error: a file with a line, a setting or an environment variable. */
export interface ErrorPlace {
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** Dotted path of the setting or field. */
  readonly path?: string
}

export interface ErrorDetails {
  /** Next step, as one sentence or one command. */
  readonly hint?: string
  readonly at?: ErrorPlace
  /** URL of a page about the error. Default: the page of svc for its own codes. */
  readonly docs?: string
  /** Data for programs. Must not contain secrets. */
  readonly data?: unknown
  readonly plugin?: string
  readonly cause?: unknown
}

/** Message and HTTP status of an error code. */
export interface ErrorSpec {
  /** Meaning of the code, in one sentence. */
  readonly message: string
  /** HTTP status; default 500. */
  readonly status?: number
}

/**
 * Error with a stable code. Check `code` (see {@link isSvcError}) instead of `instanceof`: two copies of this package
 * have different classes.
 */
export class SvcError extends Error {
  readonly '~svc' = 'error'
  readonly code: string
  readonly status: number
  readonly hint?: string
  readonly at?: ErrorPlace
  readonly docs?: string
  readonly data?: unknown
  readonly plugin?: string

  constructor(code: string, message: string, details: ErrorDetails & { readonly status?: number } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = 'SvcError'
    this.code = code
    this.status = details.status ?? 500
    if (details.hint !== undefined) this.hint = details.hint
    if (details.at !== undefined) this.at = details.at
    if (details.docs !== undefined) this.docs = details.docs
    if (details.data !== undefined) this.data = details.data
    if (details.plugin !== undefined) this.plugin = details.plugin
  }
}

/** Returns true for an error of any copy of this package. With `code`, only for that code. */
export function isSvcError(error: unknown, code?: string): error is SvcError {
  if (typeof error !== 'object' || error === null || !('~svc' in error) || error['~svc'] !== 'error') return false
  return code === undefined || (error as SvcError).code === code
}

export interface ErrorTable<E extends Readonly<Record<string, ErrorSpec>>> {
  readonly specs: E
  /** Creates an error of this table. The message should name the subject, the location and the cause. */
  create(code: keyof E & string, message: string, details?: ErrorDetails): SvcError
}

export interface ErrorTableOptions {
  /** URL of a page that explains the codes, each at an anchor with the code in lower case. */
  readonly docs?: string
}

/** Declares the error codes of a package. Codes are never reused. docs/errors.md documents those of svc. */
export function errorTable<const E extends Readonly<Record<string, ErrorSpec>>>(
  specs: E,
  { docs }: ErrorTableOptions = {}
): ErrorTable<E> {
  return {
    specs,
    create(code, message, details = {}) {
      const status = specs[code]?.status
      const page = docs === undefined ? undefined : `${docs}#${code.toLowerCase()}`
      return new SvcError(code, message, defined({ docs: page, ...details, status }))
    }
  }
}
