import { isSvcError, type Logger } from '@svc/plugin-sdk'
import type { KernelLogger } from '../core/logger.ts'
import { MaskedSecrets } from '../host/masked-secrets.ts'

const RANK: Readonly<Record<string, number>> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 }
const LABEL: Readonly<Record<string, string>> = { warn: 'warning' }

/** Creates the log of a single command: readable lines, or JSON lines without the timestamps of a server's log. */
export function consoleLog(level: string, json: boolean, write: (line: string) => void): KernelLogger {
  const secrets = new MaskedSecrets()
  let minRank = RANK[level] ?? 0
  const line = (plugin: string | undefined, name: string, message: string, fields: Record<string, unknown>): void => {
    if ((RANK[name] ?? 0) < minRank) return
    if (json) write(secrets.mask(`${JSON.stringify({ level: name, plugin, message })}\n`))
    else
      write(
        secrets.mask(
          `${LABEL[name] ?? name}: ${plugin === undefined ? '' : `${plugin}: `}${message}${hintOf(fields, message)}\n`
        )
      )
  }
  const logger = (plugin?: string): Logger => ({
    debug: (message, fields = {}) => line(plugin, 'debug', message, fields),
    info: (message, fields = {}) => line(plugin, 'info', message, fields),
    warn: (message, fields = {}) => line(plugin, 'warn', message, fields),
    error: (message, fields = {}) => line(plugin, 'error', message, fields)
  })
  return {
    ...logger(),
    forPlugin: logger,
    setLevel: next => {
      minRank = RANK[next] ?? 0
    },
    flush: () => {},
    secrets
  }
}

/** Returns the hint on a new line, or nothing if the message already contains it. */
function hintOf(fields: Record<string, unknown>, shown: string): string {
  const hint = fields.hint ?? (isSvcError(fields.error) ? fields.error.hint : undefined)
  return typeof hint === 'string' && !shown.includes(hint) ? `\n  hint: ${hint}` : ''
}
