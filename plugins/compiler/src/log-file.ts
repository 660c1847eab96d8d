import { appendFile } from 'node:fs/promises'
import type { Logger } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import type { HirModule } from './hir/hir.ts'

export interface LogEntry {
  readonly action: 'check' | 'format'
  readonly path: string
  readonly lines: number
  readonly errors: number
  readonly warnings: number
  readonly milliseconds: number
  readonly hir?: HirModule
}

/** Appends a line of JSON to the file. Logs a failed write instead of throwing. */
export async function logTo(path: string, entry: LogEntry, log: Logger): Promise<void> {
  try {
    await appendFile(path, `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`)
  } catch (error) {
    log.warn(`log_file ${path} cannot be written: ${errorMessage(error)}`)
  }
}
