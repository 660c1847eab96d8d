// Module hooks of the watch.
import { instrumented, mayHavePlaces } from './instrument.mjs'

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  if (!mayHavePlaces(url) || loaded.source === undefined || loaded.source === null) return loaded
  const source = typeof loaded.source === 'string' ? loaded.source : Buffer.from(loaded.source).toString('utf8')
  return { ...loaded, source: instrumented(source) }
}
