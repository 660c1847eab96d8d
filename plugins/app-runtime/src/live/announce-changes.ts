import type { PluginContext } from '@svc/plugin-sdk'
import { type LiveOptions, type LiveService, openLive } from './live-service.ts'

/**
 * Announces changes of a served program's tables until its successor serves. Null if the program has no `.live`.
 * The caller contributes the routes and the upgrade.
 */
export function announceChanges(ctx: PluginContext<unknown>, options: Omit<LiveOptions, 'log'>): LiveService | null {
  const live = openLive({ ...options, log: ctx.log })
  if (live === null) return null
  ctx.effect('streams of changes', () => live.close())
  // Streams that wait for changes would delay the end of the previous program.
  ctx.onDrain('streams of changes', () => live.close())
  return live
}
