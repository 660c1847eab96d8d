import { createReadStream, createWriteStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { errorMessage } from '@svc/plugin-sdk'
import { embeddingKind } from '../catalogue/embedding-folder.ts'
import { isGguf, partsOfGguf, readModelFiles } from '../catalogue/model-files.ts'
import { errors } from '../errors.ts'
import type { Progress } from './progress.ts'
import { isDiskFull, noSpace, requireSpace } from './space.ts'

/**
 * Copies a GGUF file with all its parts, or the files of a run directory without subfolders. Returns the name of the
 * first file. Throws `MSV_PULL_NOT_FOUND`, `MSV_PULL_SPACE`, or the reason of the signal.
 */
export async function copyLocal(path: string, to: string, signal: AbortSignal, progress: Progress): Promise<string> {
  const { folder, names } = await filesOf(path)
  const found = await Promise.all(names.map(async name => ({ name, state: await stat(join(folder, name)) })))
  // Links may lead to folders, and to pipes, which could block.
  const files = found.flatMap(({ name, state }) => (state.isFile() ? [{ name, size: state.size, digest: null }] : []))
  const total = files.reduce((sum, { size }) => sum + size, 0)
  progress.total(total)
  await requireSpace(to, total)
  for (const file of files) {
    let bytes = 0
    const source = createReadStream(join(folder, file.name), { highWaterMark: 1 << 20 })
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        bytes += chunk.length
        progress.file(file, bytes)
        yield chunk
      }
    }
    const copy = join(to, file.name)
    try {
      await pipeline(source, counted, createWriteStream(copy, { mode: 0o600, flush: true }), { signal })
    } catch (error) {
      signal.throwIfAborted()
      if (isDiskFull(error)) throw await noSpace(copy, file.size - bytes, error)
      throw notReadable(path, error)
    }
  }
  return files[0]?.name as string
}

async function filesOf(path: string): Promise<{ readonly folder: string; readonly names: readonly string[] }> {
  try {
    const { sizeBytes } = await readModelFiles(path)
    if (sizeBytes === 0) throw new Error('it has no weights (*.safetensors, *.onnx or *.gguf)')
    const kind = await embeddingKind(path)
    if (kind !== null)
      throw new Error(`it has ${kind === 'reranker' ? 'a' : 'an'} ${kind}, which does not generate text`)
    if (isGguf(path)) return { folder: dirname(path), names: (await partsOfGguf(path)).map(part => basename(part)) }
    const entries = await readdir(path, { withFileTypes: true })
    return {
      folder: path,
      names: entries.filter(entry => entry.isFile() || entry.isSymbolicLink()).map(({ name }) => name)
    }
  } catch (error) {
    throw notReadable(path, error)
  }
}

function notReadable(path: string, cause: unknown): Error {
  return errors.create('MSV_PULL_NOT_FOUND', `${path} cannot be copied: ${errorMessage(cause)}`, { cause })
}
