import type { PluginContext } from '@svc/plugin-sdk'
import { type LiveOptions, type LiveService, openLive } from './live-service.ts'

/**
 * Announces the changes of a served program's tables until another program serves. Null where the program has no `.live`. The
 * caller contributes the routes and the upgrade.
 */
export function announceChanges(ctx: PluginContext<unknown>, options: Omit<LiveOptions, 'log'>): LiveService | null {
  const live = openLive({ ...options, log: ctx.log })
  if (live === null) return null
  ctx.effect('streams of changes', () => live.close())
  // Streams that wait for changes would hold up the end of the program from before.
  ctx.onDrain('streams of changes', () => live.close())
  return live
}
