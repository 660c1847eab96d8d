import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type PlannedFile, RemoteFailure, type RemoteFile } from '@svc/contracts'

/** File of a deposit, on disk or in memory. */
export interface DepositFile extends PlannedFile {
  readonly body: RemoteFile | Uint8Array
}

/**
 * Returns the hash of a file by the algorithm that an archive reports, as hex. Throws `RemoteFailure` with code
 * `file_changed` if the content is not the planned one.
 */
export async function archiveHash(
  { name, sha3_256, body }: DepositFile,
  algorithm: 'md5' | 'sha256',
  signal: AbortSignal
): Promise<string> {
  const planned = createHash('sha3-256')
  const wanted = createHash(algorithm)
  for await (const chunk of body instanceof Uint8Array ? [body] : createReadStream(body.path, { signal })) {
    planned.update(chunk as Uint8Array)
    wanted.update(chunk as Uint8Array)
  }
  if (planned.digest('hex') !== sha3_256)
    throw new RemoteFailure(`${name}: the file changed after it was checked; submit again`, {
      failureClass: 'fatal',
      code: 'file_changed'
    })
  return wanted.digest('hex')
}
