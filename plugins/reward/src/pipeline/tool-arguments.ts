import type { Settings } from '../settings.ts'

const MASKED_TYPE = 'mcp_tool_called'
/** Fields that hold the arguments of a tool. */
const FIELDS = ['arguments', 'args'] as const

type Hash = (text: string) => string
let hash: Promise<Hash> | null = null

/** Returns a function for XXH3 with 64 bits and seed 0, of UTF-8, as 16 hex digits. */
async function loadHash(): Promise<Hash> {
  const { createXXHash3 } = await import('hash-wasm')
  const hasher = await createXXHash3()
  return text => hasher.init().update(text).digest('hex')
}

/**
 * Returns the event as it is stored: `full` keeps the arguments of a tool, `hash` replaces them by `xxh3:` and the XXH3
 * hash of their compact JSON, and `omit` by null.
 */
export async function maskArguments(
  type: string,
  event: Readonly<Record<string, unknown>>,
  mode: Settings['mcp_tool_args']
): Promise<Readonly<Record<string, unknown>>> {
  if (mode === 'full' || type !== MASKED_TYPE) return event
  const present = FIELDS.filter(field => event[field] !== undefined && event[field] !== null)
  if (present.length === 0) return event
  hash ??= loadHash()
  const digest = mode === 'hash' ? await hash : null
  return {
    ...event,
    ...Object.fromEntries(
      present.map(field => [field, digest === null ? null : `xxh3:${digest(JSON.stringify(event[field]))}`])
    )
  }
}
