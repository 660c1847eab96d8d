import type { Logger } from '@svc/plugin-sdk'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
const DEFAULT_LEVEL = 'info'

/** Returns true if lines of a severity are written at a level. */
export function isLogged(severity: keyof Logger, level: string): boolean {
  const min = LEVELS.indexOf(level.trim().toLowerCase())
  return LEVELS.indexOf(severity) >= (min === -1 ? LEVELS.indexOf(DEFAULT_LEVEL) : min)
}

/** Returns a log that drops lines below `level`, which is read for each line. An unknown level counts as `info`. */
export function levelledLog(log: Logger, level: () => string): Logger {
  const passing = (severity: keyof Logger): Logger[keyof Logger] => {
    return (message, fields) => {
      if (isLogged(severity, level())) log[severity](message, fields)
    }
  }
  return { debug: passing('debug'), info: passing('info'), warn: passing('warn'), error: passing('error') }
}

/** Returns a log that passes each line to the log that `current` returns at that time. */
export function currentLog(current: () => Logger): Logger {
  return {
    debug: (message, fields) => current().debug(message, fields),
    info: (message, fields) => current().info(message, fields),
    warn: (message, fields) => current().warn(message, fields),
    error: (message, fields) => current().error(message, fields)
  }
}
