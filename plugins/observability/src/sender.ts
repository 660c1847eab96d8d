/** Plugin that answers the requests of the console's own pages. */
const CONSOLE = 'dashboard'

/** Returns who sent a request that a plugin answered. Failures of the console count as those of a client: they matter. */
export function senderOf(plugin: string | null, isOk: boolean): 'client' | 'console' {
  return plugin === CONSOLE && isOk ? 'console' : 'client'
}
