import { isSvcError } from '@svc/plugin-sdk'
import type { Kernel } from '../core/kernel.ts'
import { ownerOf } from '../guards/attribution.ts'

/**
 * Attributes uncaught errors of this process. The policy of the plugin applies. Without an owner it calls `end`, since the
 * state of the process is unknown. Returns a function that stops it.
 */
export function catchUncaught(kernel: Kernel, end: (error: Error) => void): () => void {
  const listener = (error: unknown): void => attribute(error, kernel, end)
  process.on('uncaughtException', listener)
  process.on('unhandledRejection', listener)
  return () => {
    process.off('uncaughtException', listener)
    process.off('unhandledRejection', listener)
  }
}

function attribute(error: unknown, kernel: Kernel, end: (error: Error) => void): void {
  if (isSvcError(error, 'LDR_CLOSED') || isSvcError(error, 'KRN_SCOPE_CLOSED')) {
    // Code of a disposed unit. The unit that now has the name is not affected.
    kernel.log.warn(`disposed code is still running: ${error.message}`, { error })
    return
  }
  const owner = ownerOf(error)
  const unit = owner === undefined ? undefined : kernel.current.units.get(owner)
  if (unit !== undefined) {
    kernel.uncaught(unit, error)
    return
  }
  kernel.log.error('uncaught error that belongs to no plugin; stopping', { error })
  end(error instanceof Error ? error : new Error(String(error)))
}
