import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Returns the command line of a process; null if the system does not report it. */
export function commandLine(pid: number): string | null {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    if (process.platform === 'win32') return null
    const args = ['-o', 'command=', '-p', String(pid)]
    const text = execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], timeout: 5_000 })
    return text.trim() || null
  } catch {
    return null
  }
}
