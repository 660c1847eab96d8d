import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

/** Wait after SIGTERM, in milliseconds. */
const TERM_MS = 5_000
/** Wait after SIGKILL, in milliseconds. */
const KILL_MS = 2_000
const STEP_MS = 20

/**
 * Ends a process; on Windows also its children. Returns false if it still runs after SIGKILL. The caller has checked that
 * the id is that of its process.
 */
export async function stopProcess({ pid }: { readonly pid: number }, isGone: () => boolean): Promise<boolean> {
  await send(pid, 'SIGTERM')
  if (await within(TERM_MS, isGone)) return true
  await send(pid, 'SIGKILL')
  return within(KILL_MS, isGone)
}

async function send(pid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (process.platform === 'win32') {
    await new Promise<void>(resolve => execFile('taskkill', ['/PID', String(pid), '/T', '/F'], () => resolve()))
    return
  }
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

async function within(milliseconds: number, isGone: () => boolean): Promise<boolean> {
  const until = performance.now() + milliseconds
  while (!isGone()) {
    if (performance.now() > until) return false
    await delay(STEP_MS)
  }
  return true
}
