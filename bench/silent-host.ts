import type { Host } from '../plugins/app-runtime/src/interpreter/host.ts'

/** Host of a program that only calculates. */
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
