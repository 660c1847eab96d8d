import type { ManifestContent } from '@svc/contracts'
import { objectOf } from '../review/json.ts'
import type { MediaAsset } from './media.ts'

const MAX_LISTED = 200
const UNSTORABLE = /[\p{Cs}\p{Cc}]/u
const DIGEST = /^[0-9a-f]{64}$/

/** Returns the files that `metadata.media` lists. Entries without a path, a type, a size and a digest are left out. */
export function mediaOf({ metadata_json }: Pick<ManifestContent, 'metadata_json'>): readonly MediaAsset[] {
  const media = objectOf(metadata_json)?.media
  if (!Array.isArray(media)) return []
  return media.slice(0, MAX_LISTED).flatMap(each => {
    const { path, media_type, bytes, sha3_256 } = objectOf(typeof each === 'string' ? null : each) ?? {}
    const isComplete =
      typeof path === 'string' &&
      !UNSTORABLE.test(path) &&
      typeof media_type === 'string' &&
      !UNSTORABLE.test(media_type) &&
      Number.isSafeInteger(bytes) &&
      typeof sha3_256 === 'string' &&
      DIGEST.test(sha3_256)
    return isComplete ? [{ path, media_type, bytes: bytes as number, sha3_256 }] : []
  })
}
