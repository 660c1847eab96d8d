import type { Host } from '../plugins/app-runtime/src/interpreter/host.ts'

/** Host for programs that only compute: input and output are not supported. */
export const SILENT_HOST: Host = {
  print: () => undefined,
  log: () => undefined,
  now: Date.now,
  random: Math.random,
  args: [],
  capabilities: new Set<never>(),
  sleep: () => undefined,
  bridge: null,
  ending: null,
  durable: null,
  database: null
}
