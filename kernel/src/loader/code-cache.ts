import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from './replace-file.ts'

/** Length of a {@link digest} in hex digits. */
export const DIGEST_LENGTH = 16
/** Format of the cache: V8 accepts compiled code only from the same version and architecture. */
const FORMAT = `${process.versions.v8} ${process.arch}`

/** Returns the first hex digits of the SHA-256 of the texts, or an empty string if there are none. */
export function digest(...texts: readonly string[]): string {
  if (texts.length === 0) return ''
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('hex').slice(0, DIGEST_LENGTH)
}

/** Results of a plugin's build that make its start faster. */
export interface CachedCode {
  /** V8's code cache of the text. */
  readonly compiled: Buffer
  /** Packages to load with `import`, since `require` cannot load them. */
  readonly imports: readonly string[]
}

/**
 * Reads the code cache of a built plugin. `plugin`: path of the built file; `known`: {@link digest} of its version and
 * text. Returns undefined if the cache belongs to another text or another version of V8.
 */
export async function readCodeCache(plugin: string, known: string): Promise<CachedCode | undefined> {
  const bytes = await readFile(cacheOf(plugin)).catch(() => null)
  const end = bytes?.indexOf('\n') ?? -1
  if (bytes === null || end === -1) return undefined
  const [head = '', ...imports] = bytes.toString('utf8', 0, end).split('\t')
  return head === headOf(known) ? { compiled: bytes.subarray(end + 1), imports } : undefined
}

/** File name of the source map for cached code. Node reads a file faster than an inline source map. */
export const MAP_FILE = 'plugin.map.json'
const INLINE_MAP = /\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/

/** Writes the code cache next to the built file. Extracts the inline source map to a file. */
export async function writeCodeCache(
  plugin: string,
  version: string,
  { compiled, imports }: CachedCode
): Promise<void> {
  const text = await readFile(plugin, 'utf8')
  const map = Buffer.from(INLINE_MAP.exec(text)?.[1] ?? '', 'base64')
  await replaceFile(join(dirname(plugin), MAP_FILE), map)
  const known = digest(version, text)
  const head = [headOf(known), ...imports].join('\t')
  await replaceFile(cacheOf(plugin), Buffer.concat([Buffer.from(`${head}\n`), compiled]))
}

function cacheOf(plugin: string): string {
  return join(dirname(plugin), 'plugin.v8')
}

function headOf(known: string): string {
  return `${FORMAT} ${known}`
}
