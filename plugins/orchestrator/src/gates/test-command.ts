import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startChild } from '@svc/contracts'
import type { TestRun } from './evidence.ts'

/** Maximum characters of output that are stored, from its end. */
const MAX_OUTPUT_CHARACTERS = 4_096
/** Time limit of the project's tests. */
export const MAX_RUN_MS = 10 * 60_000
/** Milliseconds between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000

/** Returns the test command of a project, from its files; null if there is none. */
export async function detectTestCommand(root: string): Promise<string | null> {
  try {
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { scripts?: { test?: unknown } }
    if (typeof manifest.scripts?.test === 'string') return 'npm test --silent'
  } catch {
    // Not an npm package, or unreadable: try the next kind.
  }
  if (await exists(join(root, 'Cargo.toml'))) return 'cargo test --quiet'
  if (await exists(join(root, 'go.mod'))) return 'go test ./...'
  return null
}

/** Runs a command line in the project. Kills it with all its child processes after `limitMs`. */
export function runTests(root: string, command: string, limitMs = MAX_RUN_MS): Promise<TestRun> {
  return new Promise(resolve => {
    const child = startChild(command, [], { cwd: root, shell: true, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let isLate = false
    const keep = (chunk: Buffer): void => {
      output = (output + chunk.toString('utf8')).slice(-MAX_OUTPUT_CHARACTERS)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    const timers = [
      setTimeout(() => {
        isLate = true
        endGroup(child.pid, 'SIGTERM')
        timers.push(setTimeout(() => endGroup(child.pid, 'SIGKILL'), GRACE_MS))
      }, limitMs)
    ]
    const end = (reason: string | null): void => {
      for (const timer of timers) clearTimeout(timer)
      resolve({ command, ok: reason === null, reason: reason ?? '', output })
    }
    child.on('error', error => end(error.message))
    child.on('close', (code, signal) => {
      if (isLate) end(`it took longer than ${limitMs} ms`)
      else if (code === 0) end(null)
      else end(signal === null ? `it exited with code ${code}` : `it was killed by ${signal}`)
    })
  })
}

/** Sends a signal to the command's process group. */
function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The process group has already ended.
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch {
    return false
  }
}
