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

/**
 * Reads what V8 compiled when the plugin was built, so that a start parses less. `plugin`: the built file; `known`: the
 * {@link digest} of its version and text. Undefined for another text, or another V8.
 */
export async function readCodeCache(plugin: string, known: string): Promise<Buffer | undefined> {
  const bytes = await readFile(cacheOf(plugin)).catch(() => null)
  const head = headOf(known)
  return bytes?.subarray(0, head.length).equals(head) === true ? bytes.subarray(head.length) : undefined
}

/** Writes compiled code next to the built file. */
export async function writeCodeCache(plugin: string, version: string, compiled: Buffer): Promise<void> {
  const text = await readFile(plugin, 'utf8')
  await replaceFile(cacheOf(plugin), Buffer.concat([headOf(digest(version, text)), compiled]))
}

function cacheOf(plugin: string): string {
  return join(dirname(plugin), 'plugin.v8')
}

function headOf(known: string): Buffer {
  return Buffer.from(`${FORMAT} ${known}\n`)
}
