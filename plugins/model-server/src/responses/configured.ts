import type { DatabaseStore } from '@svc/contracts'
import type { PluginContext, Ref } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import { DatabaseResponses } from './database-responses.ts'
import { MemoryResponses } from './memory-responses.ts'
import type { ResponseStore } from './response-store.ts'

/** Returns a function that returns the store of responses: the database, or memory if there is none. */
export async function configuredResponses(
  ctx: Pick<PluginContext<Settings>, 'keep' | 'config'>,
  database: Ref<DatabaseStore> | undefined
): Promise<() => ResponseStore> {
  const memory = await ctx.keep(
    'responses 1',
    () => new MemoryResponses(),
    () => undefined
  )
  const opened = new WeakMap<DatabaseStore, ResponseStore>()
  return () => {
    const store = database?.available
    if (store === undefined) return memory
    const known = opened.get(store) ?? new DatabaseResponses(store, () => ctx.config.responses_days)
    opened.set(store, known)
    return known
  }
}
