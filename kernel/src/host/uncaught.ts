import { isSvcError } from '@svc/plugin-sdk'
import type { Kernel } from '../core/kernel.ts'
import { ownerOf } from '../guards/attribution.ts'

/**
 * Attributes uncaught errors of this process to plugins, whose policy then applies. If an error belongs to no plugin,
 * the state of the process is unknown: `end` is called. Returns a function that stops the attribution.
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
    // The error comes from a disposed unit. The current unit of the plugin is not affected.
    kernel.log.warn(`error in code of a disposed instance that still runs: ${error.message}`, { error })
    return
  }
  const owner = ownerOf(error)
  const unit = owner === undefined ? undefined : kernel.current.units.get(owner)
  if (unit !== undefined) {
    kernel.uncaught(unit, error)
    return
  }
  kernel.log.error('uncaught error outside all plugins; stopping', { error })
  end(error instanceof Error ? error : new Error(String(error)))
}
