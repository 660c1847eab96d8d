import { createHash, type Hash } from 'node:crypto'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { RemoteFailure } from '@svc/contracts'

/** Largest video of YouTube: 256 GB. */
const MAX_BYTES = 256 * 1_000 ** 3
const READ_BYTES = 1_048_576

const TYPES: Readonly<Record<string, string>> = {
  '.avi': 'video/x-msvideo',
  '.mkv': 'video/x-matroska',
  '.mov': 'video/quicktime',
  '.mp4': 'video/mp4',
  '.mpeg': 'video/mpeg',
  '.mpg': 'video/mpeg',
  '.webm': 'video/webm'
}

/** Open video file, whose content is compared with the digest that was approved. */
export class VideoFile {
  readonly #file: FileHandle
  readonly #name: string
  readonly #sha3: string
  readonly bytes: number
  /** Media type by the extension. */
  readonly type: string

  private constructor(file: FileHandle, name: string, sha3: string, bytes: number) {
    this.#file = file
    this.#name = name
    this.#sha3 = sha3
    this.bytes = bytes
    this.type = TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream'
  }

  /**
   * Opens a file inside the project and compares its SHA3-256. `path` is relative to `root`. Throws {@link RemoteFailure}
   * with the codes `video_missing`, `video_outside`, `video_invalid` and `video_changed`.
   */
  static async open(root: string, path: string, sha3: string, signal: AbortSignal): Promise<VideoFile> {
    const place = await realpath(join(root, path)).catch(() => null)
    if (place === null) throw problem('video_missing', path, 'is not in the project; check the option video')
    const inside = relative(await realpath(root), place)
    if (inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || join(root, inside) === inside)
      throw problem('video_outside', path, 'is outside the project; copy it into the project')
    const { size } = await usable(place, path)
    const file = await open(place, 'r')
    try {
      const video = new VideoFile(file, path, sha3, size)
      const digest = await video.hashOf(size, signal)
      if (digest.digest('hex') !== sha3) throw video.changed()
      return video
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /** Returns the hash of the first bytes. Throws the reason of the signal. */
  async hashOf(bytes: number, signal: AbortSignal): Promise<Hash> {
    const hash = createHash('sha3-256')
    for (let at = 0; at < bytes; at += READ_BYTES) {
      signal.throwIfAborted()
      hash.update(await this.read(at, Math.min(READ_BYTES, bytes - at)))
    }
    return hash
  }

  /** Returns a part of the file. Throws the code `video_changed` if the file has become shorter. */
  async read(start: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await this.#file.read(buffer, filled, length - filled, start + filled)
      if (bytesRead === 0) throw this.changed()
      filled += bytesRead
    }
    return buffer
  }

  /** Throws if the content is not the approved one. */
  check(hash: Hash): void {
    if (hash.copy().digest('hex') !== this.#sha3) throw this.changed()
  }

  changed(): RemoteFailure {
    return problem(
      'video_changed',
      this.#name,
      'has another SHA3-256 than the item names; correct sha3_256 and approve again'
    )
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

async function usable(place: string, path: string): Promise<{ readonly size: number }> {
  const stats = await stat(place)
  if (stats.isFile() && stats.size > 0 && stats.size <= MAX_BYTES) return stats
  throw problem('video_invalid', path, 'is not a file of 1 byte to 256 GB; name another file')
}

function problem(code: string, path: string, what: string): RemoteFailure {
  return new RemoteFailure(`YouTube: the video ${path} ${what}`, { failureClass: 'fatal', code })
}
