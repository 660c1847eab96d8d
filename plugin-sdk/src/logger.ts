export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void
  info(message: string, fields?: Record<string, unknown>): void
  warn(message: string, fields?: Record<string, unknown>): void
  error(message: string, fields?: Record<string, unknown>): void
}

/** Returns a logger that adds fields to each line. Fields of a line take precedence. */
export function withFields(log: Logger, own: Readonly<Record<string, unknown>>): Logger {
  return {
    debug: (message, fields) => log.debug(message, { ...own, ...fields }),
    info: (message, fields) => log.info(message, { ...own, ...fields }),
    warn: (message, fields) => log.warn(message, { ...own, ...fields }),
    error: (message, fields) => log.error(message, { ...own, ...fields })
  }
}
