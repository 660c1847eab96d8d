import { isSvcError, type Logger } from '@svc/plugin-sdk'
import { pino } from 'pino'

export interface LogOptions {
  readonly level: string
  readonly format: 'pretty' | 'json'
  /** File descriptor; 2 by default, since stdout belongs to protocols and results. */
  readonly descriptor?: number
}

export interface KernelLogger extends Logger {
  /** Lines carry the plugin's name. */
  forPlugin(name: string): Logger
  setLevel(level: string): void
  flush(): void
}

/** Field names whose values never reach a line, at any depth that pino can name. */
const SECRET_KEYS = ['authorization', 'token', 'api_key', 'apiKey', 'password', 'secret', 'cookie']

export async function createLogger(options: LogOptions): Promise<KernelLogger> {
  const descriptor = options.descriptor ?? 2
  const stream =
    options.format === 'pretty'
      ? (await import('pino-pretty')).default({
          destination: descriptor,
          sync: true,
          ignore: 'pid,hostname,plugin',
          messageFormat: '{if plugin}[{plugin}] {end}{msg}'
        })
      : pino.destination({ dest: descriptor, sync: true })
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: SECRET_KEYS.flatMap(key => [key, `*.${key}`, `*.*.${key}`]), censor: '***' },
      serializers: { error: serializeError }
    },
    stream
  )
  const wrap = (line: pino.Logger): Logger => ({
    debug: (message, fields) => line.debug(fields ?? {}, message),
    info: (message, fields) => line.info(fields ?? {}, message),
    warn: (message, fields) => line.warn(fields ?? {}, message),
    error: (message, fields) => line.error(fields ?? {}, message)
  })
  const children = new Map<string, pino.Logger>()
  return {
    ...wrap(root),
    forPlugin: name => {
      const child = children.get(name) ?? root.child({ plugin: name })
      children.set(name, child)
      return wrap(child)
    },
    setLevel: level => {
      for (const line of [root, ...children.values()]) line.level = level
    },
    flush: () => root.flush()
  }
}

/** Message, code, hint and stack; of a cause likewise. Data may hold a caller's input and stays out. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error) && !isSvcError(error)) return String(error)
  const { message, cause } = error as Error
  // A foreseen error says what is wrong and where; a stack is for the others.
  const details = isForeseen(error)
    ? { code: error.code, ...(isSvcError(error) ? { hint: error.hint, plugin: error.plugin } : {}) }
    : { stack: (error as Error).stack }
  const above = cause === undefined || isRepetition(error as Error, cause) ? {} : { cause: serializeError(cause) }
  return { message, ...details, ...above }
}

/** An error of ours, or one of the operating system: both have a code. */
function isForeseen(error: unknown): error is { readonly code: string } {
  return isSvcError(error) || (error instanceof Error && 'syscall' in error)
}

/** An error with its plugin's name put before it. */
function isRepetition(error: Error, cause: unknown): boolean {
  return (
    isSvcError(error) &&
    isSvcError(cause, error.code) &&
    error.message.endsWith(cause.message) &&
    cause.cause === undefined
  )
}
