import { existsSync } from 'node:fs'
import { isSmoke } from './smoke-mode.ts'

/** Ends a smoke run of a benchmark that needs Chromium if it is not installed. Other runs fail then. */
export function endWithoutBrowser(): void {
  const path = process.env.CHROMIUM ?? '/usr/bin/chromium'
  if (existsSync(path)) return
  process.stderr.write(`${path} is not installed\n`)
  process.exit(isSmoke ? 0 : 1)
}
