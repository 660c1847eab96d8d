import type { KernelLogger } from '../core/logger.ts'
import { MaskedSecrets } from '../host/masked-secrets.ts'

export interface LogLine {
  readonly plugin: string | null
  readonly level: string
  readonly message: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** Creates a log that appends its lines to an array. Known secrets are masked in messages. */
export function memoryLog(lines: LogLine[], onLine: () => void = () => {}): KernelLogger {
  const secrets = new MaskedSecrets()
  const at = (plugin: string | null) => {
    const write =
      (level: string) =>
      (message: string, fields: Record<string, unknown> = {}): void => {
        lines.push({ plugin, level, message: secrets.mask(message), fields })
        onLine()
      }
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  }
  const setLevel = (level: string): void => at(null).info(`level ${level}`)
  return { ...at(null), forPlugin: at, setLevel, flush: () => {}, secrets }
}
