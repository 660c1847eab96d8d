import { appendFile } from 'node:fs/promises'
import type { Logger } from '@svc/plugin-sdk'
import { errorMessage } from '@svc/plugin-sdk'
import type { RunEntry } from './jobs/compile-job.ts'

/** Appends a line of JSON to the file. Logs a failed write instead of throwing. */
export async function logTo(path: string, entry: RunEntry, log: Logger): Promise<void> {
  try {
    await appendFile(path, `${JSON.stringify({ time: new Date().toISOString(), ...entry })}\n`)
  } catch (error) {
    log.warn(`log_file ${path} cannot be written: ${errorMessage(error)}`)
  }
}
