import { setFlagsFromString } from 'node:v8'

/** Bytes of bytecode that a function executes before V8 11 considers optimising it. */
const DEFAULT_BYTES = 66 * 1024
const LATE_BYTES = 500_000
/** Later versions of V8 have a second, faster compiler instead, and no such flag. */
const hasFlag = process.versions.v8.startsWith('11.')

/**
 * Lets V8 optimise functions later while `run` runs: in a process of a second, optimising costs more than it saves. The
 * flag is set only after the plugins are loaded, and reset at the end, because V8 accepts a code cache only under the
 * flags under which it was written.
 */
export async function withLateOptimisation<A>(run: () => Promise<A>): Promise<A> {
  if (!hasFlag) return run()
  setFlagsFromString(`--interrupt-budget=${LATE_BYTES}`)
  try {
    return await run()
  } finally {
    setFlagsFromString(`--interrupt-budget=${DEFAULT_BYTES}`)
  }
}
