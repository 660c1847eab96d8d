import { ownIdentity, type ProcessIdentity, presenceOf } from './identity.ts'

/** Pause between two attempts, in milliseconds. */
const STEP_MS = 20
const UNKNOWN_HELD_MS = 600_000

export interface FileLockOptions {
  /** Maximum wait for other processes, in milliseconds. 0: one attempt. */
  readonly waitMs: number
  /** Returns the error if the wait was not long enough. `holder`: null if the file has no valid owner. */
  readonly busy: (holder: ProcessIdentity | null) => Error
  readonly signal?: AbortSignal | undefined
  /**
   * Milliseconds for which a lock counts if the state of its process is unknown: it ran on another machine, in another
   * container, or before the last start of this machine. Default: 10 minutes.
   */
  readonly unknownHeldMs?: number
}

/**
 * Runs a function in one process at a time: the one that owns the lock file `path`. The lock of a process that ended is
 * taken over, by exactly one of those that wait. Calls of one process exclude each other, too.
 *
 * Throws the error of `busy`, the signal's reason, and an error of the system if the file cannot be written.
 */
export async function withFileLock<A>(
  path: string,
  run: () => A | Promise<A>,
  { waitMs, busy, signal, unknownHeldMs = UNKNOWN_HELD_MS }: FileLockOptions
): Promise<A> {
  // Loaded on first use, since most processes do not need them.
  const { claim, release } = await import('./claim-file.ts')
  const until = performance.now() + waitMs
  for (;;) {
    signal?.throwIfAborted()
    const own = JSON.stringify({ ...ownIdentity(), at_ms: Date.now(), claim: crypto.randomUUID() })
    const held = await claim(path, own, async text => isHeld(text, unknownHeldMs))
    if (held === null) {
      try {
        return await run()
      } finally {
        // The result counts, also if the file cannot be removed: the next owner takes it over when this process ends.
        await release(path, own).catch(() => undefined)
      }
    }
    if (performance.now() >= until) throw busy(ownerOf(held))
    await new Promise(resolve => setTimeout(resolve, STEP_MS))
  }
}

function isHeld(text: string, unknownHeldMs: number): boolean {
  const owner = ownerOf(text)
  if (owner === null) return false
  const presence = presenceOf(owner)
  return presence === 'unknown' ? Date.now() - owner.at_ms < unknownHeldMs : presence === 'alive'
}

function ownerOf(text: string): (ProcessIdentity & { readonly at_ms: number }) | null {
  try {
    const { host, pid, start, at_ms = 0 } = JSON.parse(text)
    if (typeof host !== 'string' || typeof pid !== 'number' || typeof at_ms !== 'number') return null
    return { host, pid, start: typeof start === 'string' ? start : null, at_ms }
  } catch {
    return null
  }
}
