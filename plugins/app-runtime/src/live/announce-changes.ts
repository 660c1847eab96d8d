import type { PluginContext } from '@svc/plugin-sdk'
import { type LiveOptions, type LiveService, openLive } from './live-service.ts'

/**
 * Announces changes of a served program's tables until the next version serves. Returns null if the program has no
 * `.live`. The caller contributes the routes and the upgrade.
 */
export function announceChanges(ctx: PluginContext<unknown>, options: Omit<LiveOptions, 'log'>): LiveService | null {
  const live = openLive({ ...options, log: ctx.log })
  if (live === null) return null
  ctx.effect('streams of changes', () => live.close())
  // Open streams would delay the drain of this version.
  ctx.onDrain('streams of changes', () => live.close())
  return live
}
