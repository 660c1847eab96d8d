import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
/** Timeout of programs, so that a hanging driver does not block the diagnosis. */
const TIMEOUT_MS = 10_000

/** Machine in which devices are searched. */
export interface Host {
  /** Root for absolute paths; `/` except in tests. */
  readonly root: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Returns the standard output of a program; null if it is missing or fails. */
  run(program: string, args: readonly string[]): Promise<string | null>
}

export const thisHost: Host = {
  root: '/',
  environment: process.env,
  run: (program, args) =>
    execute(program, [...args], { timeout: TIMEOUT_MS, windowsHide: true }).then(
      ({ stdout }) => stdout,
      () => null
    )
}
