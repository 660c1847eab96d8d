import { type ManifestMetadata, RemoteFailure } from '@svc/contracts'

/** Returns a failure for content that an archive cannot use. */
export function unusable(code: string, message: string): RemoteFailure {
  return new RemoteFailure(message, { failureClass: 'preflight', code })
}

/** Returns the keywords that are texts, without repetitions. */
export function keywordsOf({ keywords }: ManifestMetadata): readonly string[] {
  if (!Array.isArray(keywords)) return []
  const texts = keywords.flatMap(word => (typeof word === 'string' && word.trim() !== '' ? [word.trim()] : []))
  return [...new Set(texts)]
}
