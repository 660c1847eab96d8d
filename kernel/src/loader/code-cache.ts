import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from './replace-file.ts'

/** Hex digits of a {@link digest}. */
export const DIGEST_LENGTH = 16
/** V8 accepts compiled code only from its own version. */
const FORMAT = `${process.versions.v8} ${process.arch}`

/** Hex digits of SHA-256; nothing for nothing. */
export function digest(...texts: readonly string[]): string {
  if (texts.length === 0) return ''
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('hex').slice(0, DIGEST_LENGTH)
}

/** Work on a plugin's text that its build does once. */
export interface CachedCode {
  /** V8's compiled form of the text. */
  readonly compiled: Buffer
  /** Packages that `require` cannot load. */
  readonly imports: readonly string[]
}

/**
 * Reads what was found out about the code when the plugin was built, so that a start parses and resolves less. `plugin`:
 * the built file; `known`: the {@link digest} of its version and text. Undefined for another text, or another V8.
 */
export async function readCodeCache(plugin: string, known: string): Promise<CachedCode | undefined> {
  const bytes = await readFile(cacheOf(plugin)).catch(() => null)
  const end = bytes?.indexOf('\n') ?? -1
  if (bytes === null || end === -1) return undefined
  const [head = '', ...imports] = bytes.toString('utf8', 0, end).split('\t')
  return head === headOf(known) ? { compiled: bytes.subarray(end + 1), imports } : undefined
}

/** Name of the file with the source map of cached code, in its folder: Node reads it faster than one in a comment. */
export const MAP_FILE = 'plugin.map.json'
const INLINE_MAP = /\/\/# sourceMappingURL=data:application\/json;base64,([\w+/=]+)\s*$/

/** Writes it next to the built file, with the source map that the file holds. */
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
