import { isSvcError } from '@svc/plugin-sdk'
import type { Kernel } from '../core/kernel.ts'
import { ownerOf } from '../guards/attribution.ts'

/**
 * Attributes what nobody in this process caught: its plugin pays by its policy; without an owner `end` is called, since the
 * state of the process is unknown. Returns how to stop.
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
    // Code of a unit that is gone: whoever serves under its name now has nothing to do with it.
    kernel.log.warn(`disposed code tried to go on: ${error.message}`, { error })
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
