import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface IdleOptions {
  /** Time between two looks at the load. Default 2,000. */
  readonly intervalMs?: number
}

/** Share of its time in which an idle event loop works. */
const MAX_UTILIZATION = 0.1
/** Successive looks at an idle event loop before the collection. */
const LOOKS = 3

/**
 * Collects garbage once, when the process has been idle for some seconds: the start leaves a third of the heap unused, and V8
 * collects it only when more is allocated. Returns a function that stops waiting.
 */
export function collectWhenIdle({ intervalMs = 2_000 }: IdleOptions = {}): () => void {
  let last = performance.eventLoopUtilization()
  let idleLooks = 0
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization()
    idleLooks = performance.eventLoopUtilization(now, last).utilization <= MAX_UTILIZATION ? idleLooks + 1 : 0
    last = now
    if (idleLooks < LOOKS) return
    clearInterval(timer)
    collect()
  }, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Runs a full collection. Only contexts that are made while the flag is set have the function `gc`. */
function collect(): void {
  setFlagsFromString('--expose-gc')
  try {
    const gc = runInNewContext('gc') as () => void
    gc()
  } finally {
    setFlagsFromString('--no-expose-gc')
  }
}
