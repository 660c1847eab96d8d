import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Test } from 'tap'

/** SQLite's own tool, as Debian installs it. */
const SQLITE = '/usr/bin/sqlite3'

/** Answers of SQLite's own tool to a statement, one per line; null if it is not installed. */
export function sqliteLines(file: string, sql: string): readonly string[] | null {
  if (!existsSync(SQLITE)) return null
  return execFileSync(SQLITE, ['-batch', '-readonly', file, sql], { encoding: 'utf8' }).split('\n').slice(0, -1)
}

/** Checks with SQLite's own tool, if it is installed, that a file is intact and its references are met. */
export function intact(t: Test, file: string): void {
  for (const [pragma, expected] of [
    ['integrity_check', ['ok']],
    ['foreign_key_check', []]
  ] as const) {
    const lines = sqliteLines(file, `PRAGMA ${pragma}`)
    if (lines !== null) t.same(lines, expected, `${pragma} of sqlite3`)
  }
}
