import type { ManifestContent } from './manifest.ts'

/** File that a text shows, as it was when the text was prepared. Part of the digest, as `media` of the metadata. */
export interface PublicationMedia {
  /** Path as the text names it, relative to the text. */
  readonly path: string
  readonly media_type: string
  readonly bytes: number
  /** 64 lower-case hex digits. A file with another digest was not approved and must not be sent. */
  readonly sha3_256: string
}

const MAX_LISTED = 200
const UNSTORABLE = /[\p{Cs}\p{Cc}]/u
const DIGEST = /^[0-9a-f]{64}$/

/** Returns the files that the metadata lists. Entries without a path, a type, a size and a digest are left out. */
export function publicationMedia({ metadata_json }: Pick<ManifestContent, 'metadata_json'>): PublicationMedia[] {
  const media = parse(metadata_json)
  if (!Array.isArray(media)) return []
  return media.slice(0, MAX_LISTED).flatMap((each: Partial<PublicationMedia> | null) => {
    const { path, media_type, bytes, sha3_256 } = each ?? {}
    const isComplete =
      typeof path === 'string' &&
      typeof media_type === 'string' &&
      typeof sha3_256 === 'string' &&
      Number.isSafeInteger(bytes) &&
      !UNSTORABLE.test(path + media_type) &&
      DIGEST.test(sha3_256)
    return isComplete ? [{ path, media_type, bytes: bytes as number, sha3_256 }] : []
  })
}

function parse(metadata: string | null): unknown {
  try {
    return (JSON.parse(metadata ?? 'null') as { media?: unknown } | null)?.media
  } catch {
    return null
  }
}
