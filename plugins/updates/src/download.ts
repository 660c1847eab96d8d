import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { defined } from '@svc/plugin-sdk'
import { updateErrors } from './errors.ts'
import { checkedUrl, failed, guardedFetch, refuseStatus } from './guarded-fetch.ts'
import type { Asset, ReleaseSource } from './release.ts'

export interface DownloadOptions {
  readonly source: Pick<ReleaseSource, 'credentials'>
  readonly asset: Asset
  /** Absolute path of the new file. */
  readonly file: string
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Downloads a file, and returns its SHA-256 as hexadecimal digits. Removes the file if it fails. Throws
 * `UPD_DOWNLOAD_FAILED`, `UPD_URL_REFUSED` and errors of the file system.
 */
export async function download({ source, asset, file, maxBytes, timeoutMs, signal }: DownloadOptions): Promise<string> {
  const { credentials } = source
  const answer = await guardedFetch(asset.url, {
    ...defined({ headers: asset.headers }),
    credentials,
    timeoutMs,
    signal
  })
  await refuseStatus(answer, asset.url)
  const tooLarge = () => failed(checkedUrl(asset.url), `the file is larger than ${maxBytes} bytes`, HINT)
  if (Number(answer.headers.get('content-length') ?? 0) > maxBytes) {
    await answer.cancel()
    throw tooLarge()
  }
  const hash = createHash('sha256')
  const handle = await open(file, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of answer.chunks) {
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge()
      hash.update(chunk)
      await handle.writeFile(chunk)
    }
    await handle.close()
  } catch (error) {
    await answer.cancel()
    await handle.close().catch(() => {})
    await rm(file, { force: true })
    throw error
  }
  return hash.digest('hex')
}

const HINT = 'if the file is the right one, raise plugins.updates.max_download_bytes'

/** Throws `UPD_CHECKSUM` unless the digests are equal. */
export function assertDigest(name: string, actual: string, expected: string): void {
  if (actual === expected) return
  throw updateErrors.create('UPD_CHECKSUM', `${name} has the SHA-256 ${actual}, checksums.txt says ${expected}`, {
    data: { asset: name, actual, expected },
    hint: 'nothing was installed; try again, and report it to the publisher if it happens again'
  })
}
