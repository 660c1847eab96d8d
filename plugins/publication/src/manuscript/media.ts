import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { dirname, extname, isAbsolute, relative, resolve, sep } from 'node:path'
import type { PublicationMedia } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { imagesOf, lineAt } from '../review/text.ts'
import { refuse, type SplitText } from './front-matter.ts'

const MAX_ASSETS = 200
const MAX_ASSET_BYTES = 100 * 1024 * 1024
const READ_BYTES = 1024 * 1024
/** Address with a scheme, or a path of the web site. */
const REMOTE = /^(?:[a-z][a-z0-9+.-]{0,30}:|[/#])/i

/** Target of a reference, such as `[plot]: figures/plot.png`. */
const DEFINITION = /^ {0,3}\[[^\]\n]{1,200}\]:[ \t]{0,8}<?([^\s<>]{1,500})/gm

const TYPES: Readonly<Record<string, string>> = {
  '.gif': 'image/gif',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp'
}

/**
 * Returns the local images of a Markdown text with their digests, in the order of the text. `file`: path of the text.
 * Throws `PUB_FILE_INVALID` for an image that is missing, too large or outside of the project.
 */
export async function readMedia(
  projectRoot: string,
  file: string,
  { body, bodyLine }: Pick<SplitText, 'body' | 'bodyLine'>,
  signal: AbortSignal
): Promise<readonly PublicationMedia[]> {
  const root = await realpath(projectRoot)
  const folder = dirname(await realpath(resolve(projectRoot, file)))
  const local = localImages(body)
  if (local.length > MAX_ASSETS) throw refuse(file, 1, `it shows ${local.length} images; the limit is ${MAX_ASSETS}`)
  const assets: PublicationMedia[] = []
  for (const [target, offset] of local) {
    const fail = (problem: string) =>
      refuse(file, bodyLine - 1 + lineAt(body, offset), `image ${target.slice(0, 200)}: ${problem}`)
    assets.push(await readAsset(root, folder, target, fail, signal))
  }
  return assets
}

/** Returns paths of images with their offsets, also those of reference-style images. */
function localImages(body: string): (readonly [string, number])[] {
  const found = [
    ...imagesOf(body).map(({ target, offset }) => [target, offset] as const),
    ...[...body.matchAll(DEFINITION)]
      .map(({ index, 1: target = '' }) => [target, index] as const)
      .filter(([target]) => extname(target).toLowerCase() in TYPES)
  ]
  const local = found.filter(([target]) => target !== '' && !REMOTE.test(target))
  return [...new Map(local.map(([target, offset]) => [decoded(target), offset]))]
}

/** Paths in Markdown are parts of addresses: a space may be %20. */
function decoded(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}

async function readAsset(
  root: string,
  folder: string,
  target: string,
  fail: (problem: string) => Error,
  signal: AbortSignal
): Promise<PublicationMedia> {
  if (target.includes('\0')) throw fail('the path contains U+0000')
  const unreadable = (error: unknown) => {
    throw fail(`it cannot be read (${errorMessage(error)})`)
  }
  const real = await realpath(resolve(folder, target)).catch(unreadable)
  const inside = relative(root, real)
  if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    throw fail('it is outside of the project')
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  const handle = await open(real, flags).catch(unreadable)
  try {
    if (!(await handle.stat()).isFile()) throw fail('it is not a regular file')
    const media_type = TYPES[extname(real).toLowerCase()] ?? 'application/octet-stream'
    return { path: target, media_type, ...(await digestOf(handle, fail, signal)) }
  } finally {
    await handle.close()
  }
}

async function digestOf(handle: FileHandle, fail: (problem: string) => Error, signal: AbortSignal) {
  const hash = createHash('sha3-256')
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  for (let bytes = 0; ; ) {
    signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, bytes)
    if (bytesRead === 0) return { bytes, sha3_256: hash.digest('hex') }
    hash.update(buffer.subarray(0, bytesRead))
    bytes += bytesRead
    if (bytes > MAX_ASSET_BYTES) throw fail(`it has more than ${MAX_ASSET_BYTES} bytes`)
  }
}
