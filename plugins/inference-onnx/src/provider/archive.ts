import { createReadStream } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Readable } from 'node:stream'
import type { ReadEntry } from 'tar'

/** File in an archive. */
export interface ArchiveFile {
  /** Path inside the archive, with `/`. */
  readonly path: string
  readonly bytes: number
}

/**
 * Extracts files of a wheel or another zip file, a tar file (compressed or not), or a folder. `take` receives each
 * file, and returns its target path, or null to skip it.
 *
 * Throws the libraries' errors for a damaged archive. Paths are passed unchanged: the caller chooses safe targets.
 */
export async function walkArchive(
  source: string,
  take: (file: ArchiveFile) => ((contents: Readable) => Promise<void>) | null
): Promise<void> {
  if ((await stat(source)).isDirectory()) await walkFolder(source, source, take)
  else if (await isZip(source)) await walkZip(source, take)
  else await walkTar(source, take)
}

type Take = Parameters<typeof walkArchive>[1]

async function walkFolder(root: string, folder: string, take: Take): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await walkFolder(root, path, take)
    if (!entry.isFile()) continue
    const consume = take({ path: relative(root, path).replaceAll('\\', '/'), bytes: (await stat(path)).size })
    await consume?.(createReadStream(path))
  }
}

async function isZip(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return bytesRead === 4 && buffer.readUInt32BE(0) === 0x504b0304
  } finally {
    await handle.close()
  }
}

async function walkZip(file: string, take: Take): Promise<void> {
  const { openPromise } = await import('yauzl')
  const zip = await openPromise(file, { autoClose: false })
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue
      const consume = take({ path: entry.fileName, bytes: entry.uncompressedSize })
      if (consume !== null) await consume(await zip.openReadStreamPromise(entry))
    }
  } finally {
    zip.close()
  }
}

async function walkTar(file: string, take: Take): Promise<void> {
  const { Parser } = await import('tar')
  const consuming: Promise<void>[] = []
  const onReadEntry = (entry: ReadEntry) => {
    const consume = entry.type === 'File' ? take({ path: entry.path, bytes: entry.size }) : null
    if (consume === null) entry.resume()
    else consuming.push(consume(entry as unknown as Readable))
  }
  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({ strict: true, onReadEntry })
    parser.on('end', resolve)
    parser.on('error', reject)
    createReadStream(file)
      .on('error', reject)
      .pipe(parser as unknown as NodeJS.WritableStream)
  })
  await Promise.all(consuming)
}
