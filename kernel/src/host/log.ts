import { defined, isSvcError, type Logger } from '@svc/plugin-sdk'
import { pino } from 'pino'
import type { KernelLogger } from '../core/logger.ts'
import { LogFeed } from './log-feed.ts'
import { MaskedSecrets } from './masked-secrets.ts'
import { prettyLine } from './pretty-line.ts'

export interface LogOptions {
  readonly level: string
  readonly format: 'pretty' | 'json'
  /** File descriptor; 2 by default, since stdout belongs to protocols and results. */
  readonly descriptor?: number
}

/**
 * Names of fields whose values are masked, except booleans and undefined. Needed in addition to {@link MaskedSecrets}:
 * not every secret is known by its value.
 */
const SECRET_FIELD = new RegExp(
  `^(?:${[
    '(?:proxy-)?authorization',
    '(?:set-)?cookie',
    'credentials?',
    'pass(?:word|wd|phrase)',
    '(?:.*[_-])?secret(?:[_-]?key)?',
    '(?:x-)?api[_-]?key',
    'private[_-]?key',
    '(?:(?:access|api|auth|bearer|csrf|id|refresh|session)[_-]?)?token'
  ].join('|')})$`,
  'i'
)
/** Fields that the log writes itself. A caller's field with such a name gets an underscore appended. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['level', 'time', 'plugin', 'msg'])
const MASK = '***'
/** Maximum depth of nested fields and of causes. */
const MAX_DEPTH = 5

export async function createLogger(options: LogOptions): Promise<KernelLogger> {
  const secrets = new MaskedSecrets()
  const lines = new LogFeed()
  const descriptor = options.descriptor ?? 2
  const stream =
    options.format === 'pretty'
      ? (await import('pino-pretty')).default({
          destination: descriptor,
          sync: true,
          hideObject: true,
          messageFormat: prettyLine
        })
      : new BatchedLines(pino.destination({ dest: descriptor, sync: true }))
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: {
        streamWrite: line => {
          const masked = secrets.mask(line)
          lines.write(masked)
          return masked
        }
      }
    },
    stream
  )
  const wrap = (pinoLogger: pino.Logger): Logger => ({
    debug: (message, fields) => pinoLogger.debug(serializeFields(fields), message),
    info: (message, fields) => pinoLogger.info(serializeFields(fields), message),
    warn: (message, fields) => pinoLogger.warn(serializeFields(fields), message),
    error: (message, fields) => pinoLogger.error(serializeFields(fields), message)
  })
  const children = new Map<string, { readonly pinoLogger: pino.Logger; readonly logger: Logger }>()
  return {
    ...wrap(root),
    secrets,
    lines,
    forPlugin: name => {
      const known = children.get(name)
      if (known !== undefined) return known.logger
      const pinoLogger = root.child({ plugin: name })
      const logger = wrap(pinoLogger)
      children.set(name, { pinoLogger, logger })
      return logger
    },
    setLevel: level => {
      root.level = level
      for (const { pinoLogger } of children.values()) pinoLogger.level = level
    },
    flush: () => root.flush()
  }
}

/** Characters of lines after which they are written, before the end of the turn. */
const MAX_BATCH = 65_536
/** Beginning of a line of the level error or fatal. */
const ERROR = /^\{"level":[56]0/

/** Outputs with lines that are not written yet. */
const pendingOutputs = new Set<BatchedLines>()
process.on('exit', () => {
  for (const output of pendingOutputs) output.flush()
})

/**
 * Writes the lines of one turn of the event loop at once: a system call for each line costs more than a small request.
 * Errors are written immediately, since they may be the last line before a crash.
 */
class BatchedLines {
  readonly #output: { write(text: string): unknown }
  #pending = ''

  constructor(output: { write(text: string): unknown }) {
    this.#output = output
  }

  write(line: string): void {
    if (this.#pending === '') {
      pendingOutputs.add(this)
      setImmediate(() => this.flush())
    }
    this.#pending += line
    if (this.#pending.length > MAX_BATCH || ERROR.test(line)) this.flush()
  }

  flush(): void {
    pendingOutputs.delete(this)
    const text = this.#pending
    this.#pending = ''
    if (text !== '') this.#output.write(text)
  }
}

function serializeFields(fields: Readonly<Record<string, unknown>> = {}): object {
  const serialized: Record<string, unknown> = {}
  for (const key of Object.keys(fields))
    serialized[OWN_FIELDS.has(key) ? `${key}_` : key] = serializeValue(key, fields[key], 0)
  return serialized
}

/** Results of {@link SECRET_FIELD}: few names occur in many lines. */
const knownFields = new Map<string, boolean>()
const MAX_KNOWN_FIELDS = 1_000

function isSecretField(key: string): boolean {
  const known = knownFields.get(key)
  if (known !== undefined) return known
  const isSecret = SECRET_FIELD.test(key)
  if (knownFields.size < MAX_KNOWN_FIELDS) knownFields.set(key, isSecret)
  return isSecret
}

function serializeValue(key: string, value: unknown, depth: number): unknown {
  // A boolean in such a field only says whether the secret exists.
  if (value === undefined || typeof value === 'boolean') return value
  if (isSecretField(key)) return MASK
  if (value instanceof Error || isSvcError(value)) return serializeError(value, depth)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) return Array.isArray(value) ? '[…]' : '{…}'
  if (Array.isArray(value)) return value.map(item => serializeValue('', item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, serializeValue(name, item, depth + 1)]))
}

/** Converts an error and its causes to message, code and hint. Omits `data`, which may contain a caller's input. */
function serializeError(error: unknown, depth: number): unknown {
  if (!(error instanceof Error) && !isSvcError(error)) return String(error)
  const { message } = error as Error
  const cause = deeperCause(error)
  // An expected error already names the problem and its location. Only others need a stack.
  const details = isExpected(error)
    ? { code: error.code, ...(isSvcError(error) ? { hint: error.hint, plugin: error.plugin } : {}) }
    : { stack: (error as Error).stack }
  if (depth >= MAX_DEPTH) return { message, ...details }
  // Only for AggregateError: other errors with a list `errors`, such as esbuild's, include it in their message.
  const errors = error instanceof AggregateError ? (error.errors as readonly unknown[]) : undefined
  return defined({
    message,
    ...details,
    cause: cause === undefined ? undefined : serializeError(cause, depth + 1),
    errors: errors?.map(each => serializeError(each, depth + 1))
  })
}

/** True for an error with a code: ours or one of the operating system. */
function isExpected(error: unknown): error is { readonly code: string } {
  return isSvcError(error) || (error instanceof Error && 'syscall' in error)
}

/** Returns the cause of an error. Skips a cause that is the same error without the plugin's name. */
function deeperCause(error: object): unknown {
  const { cause } = error as Error
  if (!isSvcError(error) || !isSvcError(cause, error.code) || !error.message.endsWith(cause.message)) return cause
  return cause.cause
}
